//! The numbers of a predicted run that answer the first questions: how long, how well used, and does it fit.

use crate::Topology;
use shardwise_view::{Picoseconds, Timeline};

/// The totals of a predicted run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// The time of one run.
    pub step_time: Picoseconds,
    /// The flops that a device computes.
    pub flops: u64,
    /// The part of the published peak rate of bf16 that `flops` in `step_time` are, or `None` if nothing takes time. It
    /// can be above 1 for types that a machine computes faster than bf16.
    pub utilization: Option<f64>,
    /// The largest number of bytes that a device has in its memory.
    pub peak_bytes: u64,
    /// The bytes that the memory of a device has.
    pub capacity_bytes: u64,
}

impl Summary {
    /// Returns the totals of a timeline that was predicted for this topology.
    pub fn of(timeline: &Timeline, topology: &Topology) -> Summary {
        let c = &topology.machine().constants;
        let step_time = timeline.end();
        let flops = timeline.spans.iter().filter_map(|span| span.work.flops).fold(0, u64::saturating_add);
        let utilization = (step_time > 0).then(|| flops as f64 / (step_time as f64 * 1e-12 * c.peak_flops));
        let peak_bytes = timeline.peak_memory().map_or(0, |peak| peak.bytes);
        Summary { step_time, flops, utilization, peak_bytes, capacity_bytes: c.hbm_bytes as u64 }
    }

    /// Returns true if the program fits into the memory of a device.
    pub fn fits(&self) -> bool {
        self.peak_bytes <= self.capacity_bytes
    }
}
