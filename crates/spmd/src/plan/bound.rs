//! The lower bound of a reshard, and the rounds of permutes that reach it.

use shardwise_base::budget::Meter;
use shardwise_base::{DType, Sharding};
use std::collections::HashMap;

/// Returns the number of bytes of the target shard that a device does not hold in the source layout, for the device
/// that lacks most. No plan moves less. `shape` is the global shape. Padding is not counted. The meshes have the same
/// devices, in any order.
///
/// A matrix of 8x8 elements of 4 bytes on a mesh `x=2, y=2`, from `[{"x"}, {}]` to `[{}, {"x"}]`: each device needs 8x4
/// elements and holds 4x4 of them, so it lacks 64 bytes.
///
/// # Panics
/// Panics if the mesh of `from` lacks a device of the mesh of `to`.
pub fn bytes_missing(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> u64 {
    let positions = from.mesh.positions();
    let mut meter = Meter::default();
    let lacks = |at: usize| {
        meter.add(1);
        let before = positions.of(to.mesh.device(at)).expect("the meshes have the same devices");
        let [held, needed] = [(from, before), (to, at)].map(|(s, p)| intervals(s, shape, &s.mesh.coordinates(p)));
        let size = |(low, high): (usize, usize)| high.saturating_sub(low) as u64;
        let both = |(a, b): (&(usize, usize), &(usize, usize))| size((a.0.max(b.0), a.1.min(b.1)));
        let needs: u64 = needed.iter().copied().map(size).product();
        needs - held.iter().zip(&needed).map(both).product::<u64>()
    };
    (0..to.mesh.size()).map(lacks).max().unwrap_or(0) * dtype.storage_bytes() as u64
}

/// Returns the least number of rounds in which all devices can receive what they lack directly from devices that hold
/// it. In a round, each device sends at most one box of its block to one device, and receives at most one.
///
/// A device receives from one device for each block that it needs a part of. The devices that hold a block send it to
/// all that need a part of it, so a block that few devices hold may take more rounds. The meshes have the same devices,
/// in any order.
///
/// # Panics
/// Panics if the mesh of `from` lacks a device of the mesh of `to`, or if a block is needed that only devices outside
/// of the mesh of `to` hold.
pub fn rounds_needed(from: &Sharding, to: &Sharding, shape: &[usize]) -> usize {
    let positions = from.mesh.positions();
    let counts = from.shard_counts();
    let blocks = from.local_shape(shape);
    let mut held: HashMap<Vec<usize>, usize> = HashMap::new();
    let mut wanted: HashMap<Vec<usize>, usize> = HashMap::new();
    let mut most_received = 0;
    let mut meter = Meter::default();
    for at in 0..to.mesh.size() {
        meter.add(1);
        let before = positions.of(to.mesh.device(at)).expect("the meshes have the same devices");
        let own = from.shard_index(&from.mesh.coordinates(before));
        let mut parts: Vec<Vec<usize>> = vec![vec![]];
        for (d, (low, high)) in intervals(to, shape, &to.mesh.coordinates(at)).into_iter().enumerate() {
            let first = low / blocks[d].max(1);
            let end = if low < high { (high - 1) / blocks[d] + 1 } else { first };
            let longer = |block: &Vec<usize>| {
                (first..end.min(counts[d])).map(|i| [&block[..], &[i]].concat()).collect::<Vec<_>>()
            };
            parts = parts.iter().flat_map(longer).collect();
        }
        parts.retain(|block| *block != own);
        most_received = most_received.max(parts.len());
        parts.into_iter().for_each(|block| *wanted.entry(block).or_default() += 1);
        *held.entry(own).or_default() += 1;
    }
    let most_sent = wanted.iter().map(|(block, count)| count.div_ceil(held[block])).max().unwrap_or(0);
    most_received.max(most_sent)
}

/// Returns, for each dimension, the interval `low..high` that the device at `coordinates` holds, without padding. The
/// interval is empty if the device holds padding only.
fn intervals(sharding: &Sharding, shape: &[usize], coordinates: &[usize]) -> Vec<(usize, usize)> {
    let blocks = sharding.shard_index(coordinates).into_iter().zip(sharding.local_shape(shape)).zip(shape);
    blocks.map(|((index, size), &n)| ((index * size).min(n), ((index + 1) * size).min(n))).collect()
}
