//! The pattern of a collective of the program on the topology.

use crate::Topology;
use crate::collective::{Exchange, Pattern, pattern, permute_pattern};
use shardwise_base::Mesh;
use shardwise_ops::collective::{CollectiveKind, CollectiveView};

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
