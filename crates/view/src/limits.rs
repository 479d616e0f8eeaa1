//! The limits of a machine: its peak rates by element type, and the rates of its memories.

use crate::{Picoseconds, Span, Timeline};
use serde_json::{Value, json};
use shardwise_base::DType;

/// The limits of what runs the program: of a device if the timeline is predicted for one, and else of the machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// The machine, and how the limits were obtained.
    pub source: String,
    /// The peak rates, for those types of elements whose rate is known.
    pub rates: Vec<PeakRate>,
    /// The memories, the smallest first.
    pub memory: Vec<MemoryLevel>,
}

/// The peak rate of a type of elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PeakRate {
    /// The type.
    pub dtype: DType,
    /// The largest number of additions and multiplications in a second.
    pub flops_per_s: f64,
}

/// A memory, such as a cache.
#[derive(Clone, PartialEq, Debug)]
pub struct MemoryLevel {
    /// The name that is shown: `L2`, `memory`.
    pub name: String,
    /// The number of bytes that it holds.
    pub bytes: f64,
    /// The largest number of bytes that can be read and written in a second.
    pub bytes_per_s: f64,
}

impl Limits {
    /// Returns the longer one of two times: that of the flops at the peak rate of `dtype`, and that of the bytes at the
    /// rate of the smallest memory that holds all of them, or of the largest one if none does. A time is left out if
    /// its amount or its rate is not known. Returns `None` if both are left out.
    pub fn least_time(&self, dtype: Option<DType>, flops: Option<u64>, bytes: Option<u64>) -> Option<Picoseconds> {
        let rate = self.rates.iter().find(|rate| Some(rate.dtype) == dtype).map(|rate| rate.flops_per_s);
        let compute = flops.zip(rate).map(|(flops, rate)| flops as f64 / rate);
        let memory = bytes.and_then(|bytes| Some(bytes as f64 / self.level(bytes as f64)?.bytes_per_s));
        let seconds = compute.into_iter().chain(memory).reduce(f64::max)?;
        // A cast from a float saturates, and no time is negative.
        Some((seconds * 1e12).floor() as Picoseconds)
    }

    /// Returns the smallest memory that holds so many bytes, or the largest one if none does. Returns `None` if no
    /// memory is known.
    fn level(&self, bytes: f64) -> Option<&MemoryLevel> {
        self.memory.iter().find(|level| level.bytes >= bytes).or(self.memory.last())
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "source": self.source,
            "rates": self.rates.iter().map(|rate| json!([rate.dtype.name(), rate.flops_per_s])).collect::<Vec<_>>(),
            "memory": self.memory.iter().map(|level| json!([level.name, level.bytes_per_s])).collect::<Vec<_>>(),
        })
    }
}

impl Timeline {
    /// Sets the limits of the machine. A span whose least time is not known gets that of its flops and its bytes in
    /// memory, of all instances together, at these limits ([`Limits::least_time`]), if they are known.
    pub fn set_limits(&mut self, limits: Limits) {
        for span in self.spans.iter_mut() {
            let known = span.work.least_time;
            span.work.least_time = known.or_else(|| least_time(&limits, span));
        }
        self.limits = Some(limits);
    }
}

fn least_time(limits: &Limits, span: &Span) -> Option<Picoseconds> {
    let all = |amount: Option<u64>| amount.map(|n| span.of_all_instances(n));
    limits.least_time(span.dtype, all(span.work.flops), all(span.work.memory_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lane, LaneKind, Maker, SpanKind, Work};

    fn limits() -> Limits {
        let level = |name: &str, bytes, bytes_per_s| MemoryLevel { name: name.into(), bytes, bytes_per_s };
        Limits {
            source: "by hand".into(),
            rates: vec![PeakRate { dtype: DType::F32, flops_per_s: 1e11 }],
            memory: vec![level("L2", 1e6, 1e11), level("memory", 1e9, 1e10)],
        }
    }

    #[test]
    fn the_slower_of_units_and_memory_is_the_limit() {
        let least = |dtype, flops, bytes| limits().least_time(dtype, flops, bytes);
        // 1e6 flops at 1e11 a second take 10 us. 1e5 bytes in L2 take 1 us, and 1e7 bytes in memory take 1 ms.
        assert_eq!(least(Some(DType::F32), Some(1_000_000), Some(100_000)), Some(10_000_000));
        assert_eq!(least(Some(DType::F32), Some(1_000_000), Some(10_000_000)), Some(1_000_000_000));
        assert_eq!(least(Some(DType::BF16), Some(1_000_000), Some(100_000)), Some(1_000_000));
        assert_eq!(least(None, None, Some(4_000_000_000)), Some(400_000_000_000));
        assert_eq!(least(None, Some(1), None), None);
    }

    #[test]
    fn work_counts_for_each_instance_and_known_times_stay() {
        let mut timeline = Timeline::new("a", Maker::Measured { machine: "host".into() });
        let lane = timeline.lanes.push(Lane { name: "instructions".into(), kind: LaneKind::Program });
        let work = Work { flops: Some(1000), ..Work::default() };
        let dtype = Some(DType::F32);
        let span = Span { work, dtype, instances: 8, ..Span::new(lane, "a", SpanKind::Compute, 0..160_000) };
        timeline.spans.push(span.clone());
        timeline.spans.push(Span { work: Work { least_time: Some(7), ..work }, ..span });
        let page = timeline.to_html(None);
        assert!(page.contains(r#""limits":null"#));
        timeline.set_limits(limits());
        let page = timeline.to_html(None);
        assert!(page.contains(r#""memory":[["L2",100000000000.0],["memory",10000000000.0]]"#), "{page}");
        let least: Vec<_> = timeline.spans.iter().map(|span| span.work.least_time).collect();
        assert_eq!(least, [Some(80_000), Some(7)]);
        assert_eq!(timeline.spans.iter().next().unwrap().achieved_share(), Some(0.5));
    }
}
