//! The memories of the machine, and how fast they are read, written and copied.

use crate::timed::{quartile, seconds};
use shardwise_host::pool::{Effort, Workers};
use std::hint::black_box;
use std::sync::Mutex;

/// A memory that the workers share, or that each of them has.
pub(crate) struct Level {
    pub(crate) name: String,
    /// The number of bytes: of a memory that each worker has, that of all workers together.
    pub(crate) bytes: f64,
    pub(crate) source: &'static str,
}

/// The name of each level of caches, and the bytes that are assumed for it if the system does not say: those of one
/// worker, or for L3 those of all workers.
const ASSUMED: [(&str, f64); 3] = [("L1", 32768.0), ("L2", 1048576.0), ("L3", 33554432.0)];

/// The most bytes that a measurement uses.
const MOST_BYTES: usize = 1 << 28;

/// Returns the caches, from the one nearest to a worker, and then the main memory.
pub(crate) fn levels() -> Vec<Level> {
    let workers = Workers::global().count() as f64;
    let mut levels: Vec<Level> = ASSUMED.iter().map(|&(name, assumed)| level(name, assumed, workers)).collect();
    let bytes = shardwise_base::budget::default_max_bytes() as f64;
    levels.push(Level { name: "memory".into(), bytes, source: "the limit of data of a command" });
    levels
}

/// Returns a cache for data, with the bytes of all workers together: from the size that the system states, or else from
/// the assumed one.
fn level(name: &str, assumed: f64, workers: f64) -> Level {
    let found = (0..8).find_map(|i| {
        let read = |what: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{i}/{what}");
            std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
        };
        let is_it = read("level").is_some_and(|level| format!("L{level}") == name)
            && read("type").is_some_and(|kind| kind != "Instruction");
        if is_it { read("size").and_then(|text| size(&text)) } else { None }
    });
    let source = if found.is_some() { "the system's description of its caches" } else { "assumed" };
    let own = found.unwrap_or(assumed);
    // Each worker has its own caches but the last one.
    Level { name: name.into(), bytes: if name == "L3" { own } else { own * workers }, source }
}

/// Returns the number of bytes in a text such as `32K`, `1M`, `2G` or `512`. Returns `None` if it is no number with one
/// of these units or without a unit.
fn size(text: &str) -> Option<f64> {
    let units = [("K", 1024.0), ("M", 1048576.0), ("G", 1073741824.0), ("", 1.0)];
    units.iter().find_map(|(unit, scale)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * scale))
}

/// Returns how many bytes all workers together read and write in a second while each of them copies its part of an
/// array again and again. The array and its copy have about `bytes` bytes together, but at least 2 KiB for each worker,
/// and not more than 256 MiB. This takes some milliseconds, or some tenths of a second for the largest arrays.
pub fn copy_bytes_per_s(bytes: u64) -> f64 {
    let part = (bytes as usize).min(MOST_BYTES) / Workers::global().count() / 2;
    Probe::new(part).copy_rate()
}

pub(crate) fn probe_bytes(level: &Level) -> usize {
    let half = (level.bytes / 2.0) as usize;
    half.clamp(4096, MOST_BYTES)
}

/// Returns how many bytes all workers together read, write and copy in a second, each rate with its name. Each worker
/// works on its own part of the bytes that [`probe_bytes`] returns. A copy counts the bytes read and those written.
pub(crate) fn rates(level: &Level) -> [(&'static str, f64); 3] {
    let probe = Probe::new(probe_bytes(level) / Workers::global().count() / 2);
    [
        ("read", probe.rate(2, &|[a, b]| _ = black_box(black_box(&*a) == black_box(&*b)))),
        ("write", probe.rate(1, &|[a, _]| black_box(a).fill(black_box(1)))),
        ("copy", probe.copy_rate()),
    ]
}

/// Two arrays for each worker.
struct Probe {
    buffers: Vec<Mutex<[Vec<u8>; 2]>>,
    /// The bytes of each array.
    part: usize,
}

impl Probe {
    fn new(part: usize) -> Probe {
        let part = part.max(1024);
        let buffers = (0..Workers::global().count()).map(|_| Mutex::new([vec![1; part], vec![1; part]])).collect();
        Probe { buffers, part }
    }

    fn copy_rate(&self) -> f64 {
        self.rate(2, &|[a, b]| black_box(a).copy_from_slice(black_box(b)))
    }

    /// Returns how many bytes all workers together work on in a second if each of them runs `run`, which works on all
    /// of the given number of its arrays.
    fn rate(&self, arrays: usize, run: &(dyn Fn(&mut [Vec<u8>; 2]) + Sync)) -> f64 {
        let count = self.buffers.len();
        // Small parts are repeated, so that a call takes long enough to be timed.
        let rounds = ((1 << 22) / self.part).clamp(1, 4096);
        let call = || {
            Workers::global().run(count, Effort::Large, |i| {
                let mut own = self.buffers[i].lock().unwrap_or_else(|e| e.into_inner());
                (0..rounds).for_each(|_| run(&mut own));
            });
        };
        call();
        (arrays * self.part * rounds * count) as f64 / quartile((0..9).map(|_| seconds(call)))
    }
}

/// Returns the name of the processor as the system states it, or `host` if it states none.
pub fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    line.map_or("host".into(), |(_, name)| name.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(["32K", "1M", "512", "x"].map(size), [Some(32768.0), Some(1048576.0), Some(512.0), None]);
    }

    #[test]
    fn memories_become_larger() {
        let levels = levels();
        assert!(levels.iter().all(|level| level.bytes > 0.0) && levels.len() == 4);
    }
}
