//! The lower bound of a reshard.

use shardwise_base::{DType, Sharding};

/// Returns the bytes of its target shard that a device does not hold, for the device that lacks most. No plan moves
/// less. Padding is not counted. The meshes have the same devices, in any order.
///
/// A matrix of 8x8 elements of 4 bytes on a mesh `x=2, y=2`, from `[{"x"}, {}]` to `[{}, {"x"}]`: each device needs
/// 8x4 elements and holds 4x4 of them, so it lacks 64 bytes.
pub fn bytes_missing(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> u64 {
    let positions = from.mesh.positions();
    let lacks = |at: usize| {
        let before = positions.of(to.mesh.device(at)).expect("the meshes have the same devices");
        let [held, needed] = [(from, before), (to, at)].map(|(s, p)| intervals(s, shape, &s.mesh.coordinates(p)));
        let size = |(low, high): (usize, usize)| high.saturating_sub(low) as u64;
        let both = |(a, b): (&(usize, usize), &(usize, usize))| size((a.0.max(b.0), a.1.min(b.1)));
        let needs: u64 = needed.iter().copied().map(size).product();
        needs - held.iter().zip(&needed).map(both).product::<u64>()
    };
    (0..to.mesh.size()).map(lacks).max().unwrap_or(0) * dtype.storage_bytes() as u64
}

/// Returns the interval of each dimension that the device at `coordinates` holds.
fn intervals(sharding: &Sharding, shape: &[usize], coordinates: &[usize]) -> Vec<(usize, usize)> {
    let blocks = sharding.shard_index(coordinates).into_iter().zip(sharding.local_shape(shape)).zip(shape);
    blocks.map(|((index, size), &n)| ((index * size).min(n), ((index + 1) * size).min(n))).collect()
}
