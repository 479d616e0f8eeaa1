//! The prices of collectives and of local work, in bytes. No other module defines prices.
//!
//! The price of a collective is the number of bytes that the device that receives most receives, in an algorithm that
//! moves the fewest bytes (a ring, or an exchange with every other member). Every choice that the partitioner makes
//! compares such prices, and the table of communication shows them.
//!
//! If a mesh has [`Rates`], the price of a byte is the time that it takes, in multiples of the time of a byte along the
//! fastest axis, and so is the price of [starting](start) a collective. A collective over several axes moves as little
//! as it can along the slow ones.

use shardwise_base::{AxisRef, Mesh, Rates};
use smallvec::SmallVec;

/// The price of starting one collective where bytes are compared. It favours plans with fewer steps; a start takes
/// about a microsecond, and the number is kept small so that it decides only between plans that move nearly the same
/// bytes.
const START_BYTES: u64 = 64;

/// Bytes of local memory traffic that take as long as moving one byte between devices. A TPU v5e reads 819 GB/s and
/// receives 45 GB/s from one neighbour, which is 18; the number is larger because producers and consumers are often
/// fused, and then their traffic is saved.
const MEMORY_BYTES_PER_BYTE: u32 = 24;

/// Floating-point operations that take as long as moving one byte between devices. A TPU v5e computes 197 Tflop/s in
/// bf16 and receives 90 GB/s from the two neighbours along an axis, which is 2200.
const FLOPS_PER_BYTE: u32 = 2000;

/// The largest number of bytes of a block of an array that prices count, 16 PiB. Larger blocks count as this many, so
/// that the prices of some hundreds of collectives can be added up.
pub const MOST_BYTES: u64 = 1 << 54;

/// The largest price of the bytes of a collective on a mesh with rates. It is higher than the bytes that a collective
/// receives ([`MOST_BYTES`]).
const MOST_PRICE: u64 = 1 << 56;

/// Returns the bytes of `count` blocks with these numbers of elements along each dimension, and at most 2^54.
///
/// ```
/// # use shardwise_sharding::cost::bytes_of_blocks;
/// assert_eq!(bytes_of_blocks(3, [2, 5], 4), 120);
/// assert_eq!(bytes_of_blocks(1, [1 << 40, 1 << 40], 4), 1 << 54);
/// assert_eq!(bytes_of_blocks(1, [1 << 40, 1 << 40, 0], 4), 0);
/// ```
pub fn bytes_of_blocks(count: u64, sizes: impl IntoIterator<Item = usize>, element_bytes: usize) -> u64 {
    let sizes = sizes.into_iter().chain([element_bytes]).map(|n| n as u64);
    sizes.fold(count, u64::saturating_mul).min(MOST_BYTES)
}

/// The kind of a collective, as far as its price depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectiveCost {
    /// Each member receives the parts of all others.
    AllGather,
    /// Each member receives its part from all others.
    ReduceScatter,
    /// A reduce-scatter and an all-gather.
    AllReduce,
    /// Each member receives one piece from every other.
    AllToAll,
}

impl CollectiveCost {
    /// Returns how often a member receives the parts of the others.
    fn passes(self) -> u64 {
        match self {
            CollectiveCost::AllGather | CollectiveCost::ReduceScatter | CollectiveCost::AllToAll => 1,
            CollectiveCost::AllReduce => 2,
        }
    }

    /// Returns the bytes that each member of a group of `members` receives. `whole` is the number of bytes of the
    /// larger of operand and result on one device. A member's own part, which it does not receive, is rounded down. A
    /// group of one member or none receives nothing.
    pub fn bytes_received(self, whole: u64, members: u64) -> u64 {
        self.passes().saturating_mul(whole - whole.checked_div(members).unwrap_or(whole))
    }

    /// Returns the quotient of [`bytes_received`](CollectiveCost::bytes_received) and `whole`, without rounding. There
    /// must be at least one member: for none the result is negative infinity.
    pub fn fraction_received(self, members: usize) -> f64 {
        let members = members as f64;
        self.passes() as f64 * (members - 1.0) / members
    }

    /// Returns the price of `received` bytes that a member receives in a group over some axes of a mesh, which is
    /// `received` if the mesh has no rates or the group has one member.
    ///
    /// Blocks are smallest along the slow axes: they are gathered along these first, and summed along them last. An
    /// all-to-all sends along a slow axis only what must cross it.
    pub fn price(self, received: u64, mesh: &Mesh, axes: &[AxisRef]) -> u64 {
        let Some(rates) = &mesh.rates else { return received };
        let of = |a: &AxisRef| (rates.slowdown([*a]), a.size(mesh));
        let mut along: SmallVec<[(u32, usize); 4]> = axes.iter().map(of).collect();
        along.sort_by_key(|(slowdown, _)| *slowdown);
        if self == CollectiveCost::AllToAll {
            along.reverse();
        }
        let (mut members, mut time) = (1.0, 0.0);
        for (slowdown, size) in along {
            time += f64::from(slowdown) * (size - 1) as f64 / (members * size as f64);
            members *= size as f64;
        }
        let price = (received as f64 * time * members / (members - 1.0)).round() as u64;
        // The product of large numbers may be rounded to less than `received`.
        if members == 1.0 { received } else { price.min(MOST_PRICE).max(received) }
    }
}

/// Returns the price of starting one collective on a mesh: the time that it takes if the mesh has rates, and otherwise
/// a constant, the price of 64 bytes.
pub fn start(mesh: &Mesh) -> u64 {
    mesh.rates.as_ref().map_or(START_BYTES, |rates| rates.start.into())
}

/// Returns the price of starting one collective of a kind whose starts count only if times are compared, such as those
/// of an exchange of windows: that of [`start`] if the mesh has rates, and otherwise 0.
pub fn start_if_timed(mesh: &Mesh) -> u64 {
    if mesh.rates.is_some() { start(mesh) } else { 0 }
}

/// Returns the price of `received` bytes that come from any devices along some axes of a mesh, as those of a permute:
/// all may come along the slowest of these axes. The price is `received` if the mesh has no rates, or without axes.
pub fn price_of_permute(received: u64, mesh: &Mesh, axes: impl IntoIterator<Item = AxisRef>) -> u64 {
    let Some(rates) = &mesh.rates else { return received };
    received.saturating_mul(rates.slowdown(axes).into()).min(MOST_PRICE)
}

/// The largest price of the work of an op, so that sums of prices can be counted.
const MOST_WORK: u64 = 1 << 48;

/// Returns the bytes that could be moved between devices in the time of this work on one device, at most 2^48. The
/// bytes for the operations and those for the memory traffic are each rounded down. Without rates of a mesh, those of a
/// TPU v5e count.
pub fn local_work(flops: f64, memory_bytes: u64, rates: Option<&Rates>) -> u64 {
    let [per_flops, per_memory] =
        rates.map_or([FLOPS_PER_BYTE, MEMORY_BYTES_PER_BYTE], |rates| [rates.flops, rates.memory_bytes]);
    let work = ((flops / f64::from(per_flops)) as u64).saturating_add(memory_bytes / u64::from(per_memory));
    work.min(MOST_WORK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_of_a_ring_of_four() {
        assert_eq!(CollectiveCost::AllGather.bytes_received(400, 4), 300);
        assert_eq!(CollectiveCost::ReduceScatter.bytes_received(400, 4), 300);
        assert_eq!(CollectiveCost::AllReduce.bytes_received(400, 4), 600);
        assert_eq!(CollectiveCost::AllToAll.bytes_received(400, 4), 300);
        assert_eq!(CollectiveCost::AllReduce.fraction_received(4), 1.5);
    }

    #[test]
    fn the_price_of_too_much_work_is_the_largest() {
        assert_eq!(local_work(4000.0, 48, None), 4);
        assert_eq!(local_work(1e23, 24, None), MOST_WORK);
        assert_eq!(local_work(1e10, u64::MAX, None), MOST_WORK);
        let rates = Rates { slowdowns: vec![], start: 1, flops: 100, memory_bytes: 8 };
        assert_eq!(local_work(4000.0, 48, Some(&rates)), 46);
    }

    #[test]
    fn bytes_along_slow_axes_cost_more() {
        let mut mesh = Mesh::new("mesh", [("pods", 2), ("x", 4)]).unwrap();
        let axes: Vec<AxisRef> = mesh.all_axes().collect();
        assert_eq!(CollectiveCost::AllGather.price(700, &mesh, &axes), 700);
        assert_eq!(price_of_permute(700, &mesh, axes.clone()), 700);
        assert_eq!((start(&mesh), start_if_timed(&mesh)), (START_BYTES, 0));
        mesh.rates = Some(Rates { slowdowns: vec![20, 1], start: 900, flops: 1, memory_bytes: 1 });
        assert_eq!((start(&mesh), start_if_timed(&mesh)), (900, 900));
        // Of 800 bytes, a device receives 100 along the slow axis and then 600.
        assert_eq!(CollectiveCost::AllGather.price(700, &mesh, &axes), 20 * 100 + 600);
        assert_eq!(CollectiveCost::AllReduce.price(1400, &mesh, &axes), 2 * (20 * 100 + 600));
        // It exchanges 400 along the slow axis and then 300.
        assert_eq!(CollectiveCost::AllToAll.price(700, &mesh, &axes), 20 * 400 + 300);
        assert_eq!(CollectiveCost::AllGather.price(600, &mesh, &axes[1..]), 600);
        assert_eq!(CollectiveCost::AllGather.price(400, &mesh, &axes[..1]), 8000);
        assert_eq!(CollectiveCost::AllGather.price(0, &mesh, &[]), 0);
        assert_eq!(price_of_permute(100, &mesh, axes.clone()), 2000);
        assert_eq!(price_of_permute(100, &mesh, axes[1..].iter().copied()), 100);
    }

    #[test]
    fn prices_of_the_most_bytes_are_rounded_up() {
        let mut mesh = Mesh::new("mesh", [("x", 4)]).unwrap();
        mesh.rates = Some(Rates { slowdowns: vec![1], start: 1, flops: 1, memory_bytes: 1 });
        let axes: Vec<AxisRef> = mesh.all_axes().collect();
        for received in [7_156_903_604_835_726, (1 << 53) + 1, MOST_BYTES - 1] {
            assert!(CollectiveCost::AllGather.price(received, &mesh, &axes) >= received);
        }
    }

    #[test]
    fn a_group_of_one_receives_nothing() {
        assert_eq!(CollectiveCost::AllReduce.bytes_received(400, 1), 0);
        assert_eq!(CollectiveCost::AllGather.bytes_received(0, 0), 0);
    }
}
