//! The bytes that a collective moves.

use super::{CollectiveKind, CollectiveView};
use shardwise_ir::{OpView, TensorType, Value};
use shardwise_sharding::cost::CollectiveCost;

/// The bytes that a collective moves for each device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The bytes of the arrays that are gathered, reduced or exchanged: for a gather all results, for all others all
    /// operands. It is 0 for a permutation that moves nothing.
    pub bytes: u64,
    /// The bytes that the device that receives most receives.
    pub received: u64,
    /// True if `received` is only an upper bound.
    pub is_bound: bool,
}

impl Transfer {
    /// Returns how much a collective of a program on this many devices moves.
    pub fn of(view: &OpView<'_>, collective: &CollectiveView, device_count: usize) -> Transfer {
        let bytes = |values: &[Value]| -> u64 {
            values.iter().filter_map(|&v| view.body.ty(v).as_tensor()).map(TensorType::bytes).sum()
        };
        let (taken, given) = (bytes(view.operands()), bytes(view.results()));
        let members = collective.groups.group_size().unwrap_or(device_count) as u64;
        let received = |cost: CollectiveCost, whole: u64| (whole, cost.bytes_received(whole, members));
        let (bytes, received) = match &collective.kind {
            CollectiveKind::AllGather { .. } => received(CollectiveCost::AllGather, given),
            CollectiveKind::AllReduce { .. } => received(CollectiveCost::AllReduce, taken),
            CollectiveKind::ReduceScatter { .. } => received(CollectiveCost::ReduceScatter, taken),
            CollectiveKind::AllToAll { .. } => received(CollectiveCost::AllToAll, taken),
            CollectiveKind::RaggedAllToAll => (taken, given.min(taken.saturating_mul(members))),
            CollectiveKind::CollectivePermute { permutation } if permutation.moved_count() == 0 => (0, 0),
            CollectiveKind::CollectivePermute { .. } | CollectiveKind::CollectiveBroadcast => (taken, taken),
            CollectiveKind::CollectiveReduce { .. } => (taken, taken),
        };
        Transfer { bytes, received, is_bound: collective.kind == CollectiveKind::RaggedAllToAll }
    }
}
