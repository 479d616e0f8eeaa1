//! Random meshes, layouts and shapes.

use shardwise_base::{AxisRef, Mesh, Sharding};
use shardwise_check::choose::Chooser;
use std::sync::Arc;

/// Returns a mesh with axes of these sizes, named from `a` on. Sizes after the first four are left out. Panics if a
/// size is 0 or if there are more than [`Mesh::MAX_DEVICES`] devices.
pub fn mesh(sizes: &[usize]) -> Arc<Mesh> {
    let names = ["a", "b", "c", "d"];
    Arc::new(Mesh::new("mesh", names.into_iter().zip(sizes.iter().copied())).expect("the sizes are positive"))
}

/// Returns a layout of an array with `rank` dimensions, in which each axis of the mesh splits one dimension or none.
/// About one in four of the axes of composite size is cut into two parts first, each of which does so.
pub fn layout(choose: &mut Chooser, mesh: &Arc<Mesh>, rank: usize) -> Sharding {
    let mut pieces: Vec<AxisRef> = mesh.all_axes().flat_map(|axis| parts(choose, mesh, axis)).collect();
    choose.shuffle(&mut pieces);
    let mut dims = vec![vec![]; rank];
    for piece in pieces {
        let at = choose.below(rank + 1);
        if let Some(dim) = dims.get_mut(at) {
            AxisRef::push_or_merge(dim, piece, mesh);
        }
    }
    Sharding::closed(mesh, dims)
}

fn parts(choose: &mut Chooser, mesh: &Mesh, axis: AxisRef) -> Vec<AxisRef> {
    let size = axis.size(mesh);
    let cuts: Vec<usize> = (2..size).filter(|n| size.is_multiple_of(*n)).collect();
    if cuts.is_empty() || !choose.one_in(4) {
        return vec![axis];
    }
    let cut = *choose.of(&cuts);
    vec![AxisRef::sub(mesh, axis.axis, 1, cut), AxisRef::sub(mesh, axis.axis, cut, size / cut)]
}

/// Returns a shape that all these layouts split evenly, with at least `elements` elements. All layouts must have the
/// same rank. Panics if there are none, or if they have rank 0 and `elements` is larger than 1.
pub fn even_shape(choose: &mut Chooser, layouts: &[&Sharding], elements: usize) -> Vec<usize> {
    let rank = layouts[0].rank();
    let multiple = |d: usize| layouts.iter().map(|s| s.shard_counts()[d]).fold(1, lcm);
    let mut shape: Vec<usize> = (0..rank).map(|d| multiple(d) * *choose.of(&[1, 2, 3, 4])).collect();
    while shape.iter().product::<usize>() < elements {
        shape[choose.below(rank)] *= 2;
    }
    shape
}

/// Returns a shape of which one of these layouts splits at least one dimension unevenly if they split any: an even
/// shape with at least `elements` elements, of which some dimensions are then shortened. Panics as [`even_shape`] does.
pub fn uneven_shape(choose: &mut Chooser, layouts: &[&Sharding], elements: usize) -> Vec<usize> {
    let mut shape = even_shape(choose, layouts, elements);
    let multiple = |d: usize| layouts.iter().map(|s| s.shard_counts()[d]).fold(1, lcm);
    let split: Vec<usize> = (0..shape.len()).filter(|&d| multiple(d) > 1).collect();
    for (i, &d) in split.iter().enumerate() {
        if i == 0 || !choose.one_in(3) {
            shape[d] -= 1 + choose.below(multiple(d) - 1);
        }
    }
    shape
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_even() {
        let mut choose = Chooser::new(1);
        for _ in 0..200 {
            let mesh = mesh(&[4, 2, 3]);
            let layouts = [layout(&mut choose, &mesh, 3), layout(&mut choose, &mesh, 3)];
            let shape = even_shape(&mut choose, &[&layouts[0], &layouts[1]], 1 << 12);
            assert!(layouts.iter().all(|s| s.divides(&shape)) && shape.iter().product::<usize>() >= 1 << 12);
            let shape = uneven_shape(&mut choose, &[&layouts[0], &layouts[1]], 1 << 12);
            let is_split = layouts.iter().any(|s| s.split_axes().next().is_some());
            assert!(!shape.contains(&0) && layouts.iter().all(|s| s.divides(&shape)) != is_split);
        }
    }
}
