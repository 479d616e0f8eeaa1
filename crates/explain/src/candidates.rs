//! The layouts that one place of a program can have, and which of them are tried first.

use crate::place::Spec;
use shardwise_base::{AxisRef, DimSharding, Mesh, Sharding};
use std::sync::Arc;

/// The largest number of layouts that are listed or counted for one place.
pub(crate) const MAX_LAYOUTS: usize = 1 << 12;

/// Returns the layouts of a place over whole axes of the mesh: each axis splits one dimension or none, in any order
/// within a dimension. No dimension has more shards than elements. A stated layout without open dimensions is left out.
/// The layouts are unreduced over the same axes as the stated one. These axes, those of [`Spec::manual`] and axes of
/// size 1 split nothing. At most 4096 layouts are returned, those with the fewest axes first.
///
/// # Examples
///
/// ```text
/// f32[8,8] over X=2: [{}, {}], [{"X"}, {}], [{}, {"X"}], without the one that the place has
/// ```
pub fn layouts(spec: &Spec, mesh: &Arc<Mesh>) -> Vec<Sharding> {
    first_layouts(spec, mesh, MAX_LAYOUTS)
}

/// Returns the first of the [`layouts`] of a place, at most `limit`, those with the fewest axes first.
pub(crate) fn first_layouts(spec: &Spec, mesh: &Arc<Mesh>, limit: usize) -> Vec<Sharding> {
    let unreduced = spec.stated.as_ref().map_or(vec![], |stated| stated.unreduced.clone());
    let is_free =
        |a: &AxisRef| a.size(mesh) > 1 && !spec.manual.iter().chain(&unreduced).any(|taken| taken.overlaps(*a));
    let axes: Vec<AxisRef> = mesh.all_axes().filter(is_free).collect();
    let made = listed(mesh, &spec.ty.shape, &axes, limit).into_iter().map(|dims| {
        let dims = dims.into_iter().map(DimSharding::closed).collect();
        Sharding::new(mesh, dims).with_unreduced(unreduced.clone())
    });
    made.filter(|layout| !is_stated(spec, layout)).collect()
}

/// Returns true if the place states exactly this layout, and no dimension of the stated layout is open.
fn is_stated(spec: &Spec, layout: &Sharding) -> bool {
    spec.stated.as_ref().is_some_and(|stated| stated.is_closed() && stated.same_layout(layout))
}

/// Returns at most `limit` layouts, those with the fewest axes first, as lists of axes for each dimension. A layout is
/// made from the one without its last axis, so that each is made once.
fn listed(mesh: &Mesh, shape: &[usize], axes: &[AxisRef], limit: usize) -> Vec<Vec<Vec<AxisRef>>> {
    let mut found: Vec<(Vec<Vec<AxisRef>>, usize)> = vec![(vec![vec![]; shape.len()], 0)];
    let mut next = 0;
    while next < found.len() && found.len() < limit {
        let (dims, first) = found[next].clone();
        for d in first..dims.len() {
            let shards = AxisRef::total_size(mesh, &dims[d]);
            let is_used = |axis: &AxisRef| dims.iter().flatten().any(|used| used == axis);
            let fits = |axis: &&AxisRef| !is_used(axis) && shards * axis.size(mesh) <= shape[d];
            for &axis in axes.iter().filter(fits) {
                let mut more = dims.clone();
                more[d].push(axis);
                found.push((more, d));
            }
        }
        next += 1;
    }
    found.truncate(limit);
    found.into_iter().map(|(dims, _)| dims).collect()
}

/// Returns how promising a layout is for a place that has the layout `now`, between 0 and 1. A layout promises most if
/// a single axis splits another dimension than now, or none where it splits one now. It promises less if several axes
/// do, and least if no axis does. Layouts with padding promise half as much.
pub(crate) fn promise(now: Option<&Sharding>, layout: &Sharding, shape: &[usize]) -> f64 {
    let dim_of = |sharding: Option<&Sharding>, axis: AxisRef| {
        sharding.and_then(|s| s.dims.iter().position(|d| d.axes.iter().any(|a| a.overlaps(axis))))
    };
    let places = layout.mesh.all_axes().map(|axis| (dim_of(now, axis), dim_of(Some(layout), axis)));
    let changed: Vec<(Option<usize>, Option<usize>)> = places.filter(|(before, after)| before != after).collect();
    let close = match &changed[..] {
        [] => 0.1,
        [(Some(_), None)] => 0.6,
        [(Some(_), Some(_))] => 0.55,
        [_] => 0.5,
        [_, _] => 0.3,
        _ => 0.15,
    };
    if layout.divides(shape) { close } else { close * 0.5 }
}
