//! Which device sends to which when a `collective_permute` turns one layout into another.

use shardwise_base::{AxisRef, Mesh, Sharding};
use std::collections::BTreeMap;

/// A permutation of the devices along an axis list; the same at every coordinate of the other axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permutation {
    /// Sorted by the mesh, disjoint, merged.
    pub axes: Vec<AxisRef>,
    /// Positions along `axes`: who sends to whom, targets ascending; those that keep their own are in it.
    pub source_target_pairs: Vec<(usize, usize)>,
}

/// The permutation that gives every device its shard of `to`, from devices that hold it in `from`.
///
/// Both must split each dimension into as many shards. A device that has its shard already keeps it.
pub fn permutation(from: &Sharding, to: &Sharding) -> Permutation {
    let mesh = &from.mesh;
    let changed = from.dims.iter().zip(&to.dims).filter(|(a, b)| a.axes != b.axes);
    let axes = AxisRef::union(mesh, changed.flat_map(|(a, b)| a.axes.iter().chain(&b.axes).copied()));
    let count = AxisRef::total_size(mesh, &axes);
    let shard = |s: &Sharding, position| s.shard_index(&coordinates_along(mesh, &axes, position));
    let mut holders: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    let (mut pairs, mut open) = (vec![], vec![]);
    for position in 0..count {
        let held = shard(from, position);
        if held == shard(to, position) {
            pairs.push((position, position));
        } else {
            holders.entry(held).or_default().insert(0, position);
            open.push(position);
        }
    }
    for target in open {
        let source = holders.get_mut(&shard(to, target)).and_then(Vec::pop);
        pairs.push((source.expect("as many hold a shard as need it"), target));
    }
    pairs.sort_unstable_by_key(|&(_, target)| target);
    Permutation { axes, source_target_pairs: pairs }
}

/// The coordinates in the mesh of position `position` along `axes`, at the origin of all other axes.
pub fn coordinates_along(mesh: &Mesh, axes: &[AxisRef], position: usize) -> Vec<usize> {
    let mut coordinates = vec![0; mesh.axes.len()];
    let mut rest = position;
    for a in axes.iter().rev() {
        let size = a.size(mesh);
        coordinates[a.axis.index()] += rest % size * (mesh.axis_size(a.axis) / a.next_pre_size(mesh));
        rest /= size;
    }
    coordinates
}
