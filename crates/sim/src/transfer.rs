//! The bytes that a collective of the program moves, and its pattern on the topology.

use crate::Topology;
use crate::collective::{Exchange, Pattern, pattern, permute_pattern};
use shardwise_base::Mesh;
use shardwise_ir::{OpView, TensorType, Value};
use shardwise_ops::collective::{CollectiveKind, CollectiveView};
use shardwise_sharding::cost::CollectiveCost;

/// A collective, as far as its time depends on it.
pub(crate) struct Transfer {
    /// The bytes of which [`Pattern::seconds`] speaks.
    pub(crate) bytes: u64,
    /// The bytes that the device that receives most receives.
    pub(crate) received: u64,
    /// True if both numbers of bytes are only upper bounds.
    pub(crate) is_bound: bool,
}

impl Transfer {
    pub(crate) fn of(view: &OpView<'_>, collective: &CollectiveView, device_count: usize) -> Transfer {
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

/// Returns the pattern of a collective of a program on `mesh`, whose devices are these physical ones.
pub(crate) fn pattern_of(
    topology: &Topology,
    mesh: &Mesh,
    physical: &dyn Fn(usize) -> usize,
    collective: &CollectiveView,
) -> Pattern {
    let exchange = match &collective.kind {
        CollectiveKind::CollectivePermute { permutation } => {
            let pairs = permutation.to_device_pairs(mesh).into_iter();
            let pairs: Vec<(usize, usize)> = pairs.map(|(from, to)| (physical(from), physical(to))).collect();
            return permute_pattern(topology, &pairs);
        }
        CollectiveKind::AllGather { .. } | CollectiveKind::ReduceScatter { .. } => Exchange::Gather,
        CollectiveKind::AllReduce { .. } => Exchange::AllReduce,
        CollectiveKind::AllToAll { .. } | CollectiveKind::RaggedAllToAll => Exchange::AllToAll,
        CollectiveKind::CollectiveBroadcast | CollectiveKind::CollectiveReduce { .. } => Exchange::Broadcast,
    };
    let groups = collective.groups.to_dense(mesh.size());
    let groups: Vec<Vec<usize>> = groups.iter().map(|g| g.iter().map(|&device| physical(device)).collect()).collect();
    pattern(topology, &groups, exchange)
}

/// Returns true if compilers for the machine start collectives of this kind and wait for them later.
pub(crate) fn is_asynchronous(kind: &CollectiveKind, has_async_reductions: bool) -> bool {
    use CollectiveKind::*;
    matches!(kind, AllGather { .. } | CollectivePermute { .. } | CollectiveBroadcast) || has_async_reductions
}
