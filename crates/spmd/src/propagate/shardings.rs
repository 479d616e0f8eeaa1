//! Small changes of shardings that import makes.

use shardwise_base::{AxisRef, DimSharding, Mesh, Sharding, ShardingParts};

/// Returns the sharding without axes of size 1, which split nothing.
pub(crate) fn without_unit_axes(sharding: &Sharding) -> Sharding {
    let mesh = &sharding.mesh;
    if mesh.axes.iter().all(|a| a.size != 1) {
        return sharding.clone();
    }
    let keep = |axes: &[AxisRef]| axes.iter().copied().filter(|a| a.size(mesh) != 1).collect();
    ShardingParts {
        mesh: mesh.clone(),
        dims: sharding.dims.iter().map(|d| with_axes(d, keep(&d.axes))).collect(),
        replicated: keep(&sharding.replicated),
        unreduced: keep(&sharding.unreduced),
        reduced: vec![],
    }
    .into()
}

/// Returns the dimension with these axes. A closed dimension without axes has no priority.
fn with_axes(dim: &DimSharding, axes: Vec<AxisRef>) -> DimSharding {
    let is_settled = axes.is_empty() && !dim.is_open;
    DimSharding { axes, is_open: dim.is_open, priority: dim.priority.filter(|_| !is_settled) }
}

/// Returns the sharding with the manual axes that it does not mention declared as replicated, so that propagation does
/// not use them.
pub(crate) fn with_all_manual_axes(sharding: &Sharding, mesh: &Mesh, manual: &[AxisRef]) -> Sharding {
    let used: Vec<AxisRef> = sharding
        .split_axes()
        .chain(sharding.replicated.iter().copied())
        .chain(sharding.unreduced.iter().copied())
        .collect();
    let unused: Vec<AxisRef> = manual.iter().flat_map(|a| a.minus(mesh, &used)).collect();
    let mut out = sharding.clone();
    if !unused.is_empty() {
        out.replicated.extend(unused);
        AxisRef::sort_and_merge(&mut out.replicated, mesh);
    }
    out
}

/// Returns whether no dimension is open.
pub(super) fn is_closed(sharding: &Sharding) -> bool {
    sharding.dims.iter().all(|d| !d.is_open)
}
