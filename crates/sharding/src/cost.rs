//! The prices of collectives and of local work, in bytes. No other module defines prices.
//!
//! The price of a collective is the number of bytes that the device that receives most receives, in an algorithm that
//! moves the fewest bytes (a ring, or an exchange with every other member). Every choice that the partitioner makes
//! compares such prices, and the table of communication shows them.

/// The price of starting one collective, in bytes. It favours plans with fewer steps; a start takes about a
/// microsecond, and the number is kept small so that it decides only between plans that move nearly the same bytes.
pub const STEP_BYTES: u64 = 64;

/// Bytes of local memory traffic that take as long as moving one byte between devices. A TPU v5e reads 819 GB/s and
/// receives 45 GB/s from one neighbour, which is 18; the number is larger because producers and consumers are often
/// fused, and then their traffic is saved.
const MEMORY_BYTES_PER_BYTE: u64 = 24;

/// Floating-point operations that take as long as moving one byte between devices. A TPU v5e computes 197 Tflop/s in
/// bf16 and receives 90 GB/s from the two neighbours along an axis, which is 2200.
const FLOPS_PER_BYTE: f64 = 2000.0;

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
}

/// The largest price of the work of an op, so that sums of prices can be counted.
const MOST_WORK: u64 = 1 << 48;

/// Returns the bytes that could be moved between devices in the time of this work on one device, at most 2^48. The bytes
/// for the operations and those for the memory traffic are each rounded down.
pub fn local_work(flops: f64, memory_bytes: u64) -> u64 {
    let work = ((flops / FLOPS_PER_BYTE) as u64).saturating_add(memory_bytes / MEMORY_BYTES_PER_BYTE);
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
        assert_eq!(local_work(4000.0, 48), 4);
        assert_eq!(local_work(1e23, 24), MOST_WORK);
        assert_eq!(local_work(1e10, u64::MAX), MOST_WORK);
    }

    #[test]
    fn a_group_of_one_receives_nothing() {
        assert_eq!(CollectiveCost::AllReduce.bytes_received(400, 1), 0);
        assert_eq!(CollectiveCost::AllGather.bytes_received(0, 0), 0);
    }
}
