//! The numbers of a predicted run that answer the first questions: how long, how well used, and does it fit.

use crate::Topology;
use shardwise_view::{Picoseconds, Span, Timeline};

/// The totals of a predicted run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// The time of one run.
    pub step_time: Picoseconds,
    /// The flops that a device computes, or a host for all devices.
    pub flops: u64,
    /// The part of the peak rate that `flops` in `step_time` are, or `None` if nothing takes time or the rate is not
    /// known. The rate is the published one of bf16, and on a host the measured one of f32. The part can be above 1 for
    /// types that a machine computes faster.
    pub utilization: Option<f64>,
    /// The largest number of bytes in use at one time, in the memory of a device, or in that of a host for all devices.
    /// 0 if it is not known.
    pub peak_bytes: u64,
    /// The bytes that the memory of a device has, or that of a host.
    pub capacity_bytes: u64,
}

impl Summary {
    /// Returns the totals of a timeline that was predicted for this topology.
    pub fn of(timeline: &Timeline, topology: &Topology) -> Summary {
        let c = &topology.machine().constants;
        let step_time = timeline.end();
        let all = |span: &Span| Some(span.of_all_instances(span.work.flops?));
        let flops = timeline.spans.iter().filter_map(all).fold(0, u64::saturating_add);
        let is_known = step_time > 0 && c.peak_flops > 0.0;
        let utilization = is_known.then(|| flops as f64 / (step_time as f64 * 1e-12 * c.peak_flops));
        let peak_bytes = timeline.peak_memory().map_or(0, |peak| peak.bytes);
        Summary { step_time, flops, utilization, peak_bytes, capacity_bytes: c.hbm_bytes as u64 }
    }

    /// Returns true if the program fits into the memory of a device, or of the host, or if the memory that it uses is
    /// not known.
    pub fn fits(&self) -> bool {
        self.peak_bytes <= self.capacity_bytes
    }
}
