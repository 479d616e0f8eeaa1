//! Shardy's collectives on per-device values.

use super::{AllToAllParam, ShardyCollective, axes_to_fill};
use crate::collective::with_index_in;
use crate::facts::*;
use crate::make::constant;
use crate::make_collective as make;
use shardwise_base::{AxisRef, Diagnostic, Literal, Mesh, Sharding};
use shardwise_ir::{Op, Value};
use std::sync::Arc;

/// Makes the per-device ops of a step. Every sharded dimension divides evenly by now.
pub(super) fn collective(cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
    use ShardyCollective::*;
    let step = ShardyCollective::of(&cx.op).expect("verified");
    let layout = |s: &Option<Sharding>| s.clone().expect("a tensor has a sharding");
    let (from, to) = (layout(&cx.operand_shardings[0]), layout(&cx.result_shardings[0]));
    let (mesh, mut x) = (from.mesh.clone(), cx.operands[0]);
    let first_new = cx.builder.body.op_count();
    let b = &mut *cx.builder;
    let result = cx.result_types[0].as_tensor().expect("a collective moves tensors").clone();
    if result.shape.contains(&0) {
        // Nothing to move or to sum.
        return Ok(vec![constant(b, Literal::zeros(result.dtype, result.shape.clone()))]);
    }
    match &step {
        AllGather { dims } => {
            for (dim, axes) in dims.iter().enumerate().filter(|(_, axes)| !axes.is_empty()) {
                x = make::all_gather(b, x, dim, &mesh, axes);
            }
        }
        AllSlice { dims } => x = make::local_slice(b, x, &mesh, dims),
        AllToAll { params } => {
            for AllToAllParam { axes, src_dim, tgt_dim } in params {
                x = make::all_to_all(b, x, *tgt_dim, *src_dim, &mesh, axes);
            }
        }
        CollectivePermute => {
            let (axes, pairs) = permutation(&from, &to);
            x = make::collective_permute(b, x, &mesh, &axes, &pairs);
        }
        AllReduce { axes, reduce } => x = make::all_reduce(b, x, *reduce, &mesh, axes),
        ReduceScatter { dims, reduce } => {
            for (dim, axes) in dims.iter().enumerate().filter(|(_, axes)| !axes.is_empty()) {
                x = make::reduce_scatter(b, x, dim, *reduce, &mesh, axes);
            }
        }
        ReplicatedToUnreduced { axes } => x = make::on_first(b, x, &mesh, axes),
        ShardedToUnreduced { dims } => x = make::in_zeros(b, x, &mesh, dims, cx.result_types[0].shape()),
    }
    // The ops of reducers inside need no reason of their own.
    let is_new = |op: &Op| op.index() >= first_new;
    let here: Vec<Op> = b.body[b.region].ops.iter().rev().copied().take_while(is_new).collect();
    for op in here {
        b.body.op_mut(op).reason = cx.op.data().reason.clone();
    }
    Ok(vec![x])
}

/// Who sends to whom so that shards laid out as `from` come to lie as `to`: pairs of positions along an axis list.
///
/// Both layouts have as many shards. The shard's place is written in digits of both; what axes a layout lacks of the
/// other it lists after its own, so that copies of a shard go one to each place that wants one.
pub fn permutation(from: &Sharding, to: &Sharding) -> (Vec<AxisRef>, Vec<(usize, usize)>) {
    let mesh: &Arc<Mesh> = &from.mesh;
    let own = |s: &Sharding| s.split_axes().collect::<Vec<AxisRef>>();
    let fill = |own: &[AxisRef], others: &[AxisRef]| [own, &axes_to_fill(mesh, own, others)].concat();
    let same_order = from.mesh.device_ids == to.mesh.device_ids;
    let mut shared = [own(from), own(to)].concat();
    if !same_order {
        shared.extend(mesh.all_axes());
    }
    let axes = AxisRef::union(mesh, shared);
    let (source, target) = (fill(&own(from), &axes), fill(&own(to), &axes));
    let origin = vec![0; mesh.axes.len()];
    let coordinates = |list: &[AxisRef], i: usize| with_index_in(mesh, list, &origin, i);
    let place = |c: &[usize]| AxisRef::index_in(mesh, &axes, c);
    let moved = |c: Vec<usize>| if same_order { c } else { same_device(&to.mesh, mesh, &c) };
    let count = AxisRef::total_size(mesh, &axes);
    let mut pairs: Vec<(usize, usize)> =
        (0..count).map(|i| (place(&coordinates(&source, i)), place(&moved(coordinates(&target, i))))).collect();
    pairs.sort_unstable();
    (axes, pairs)
}

/// Where in the grid of `other` the device stands that is at `coordinates` of `mesh`.
fn same_device(mesh: &Mesh, other: &Mesh, coordinates: &[usize]) -> Vec<usize> {
    let device = mesh.device(mesh.position(coordinates));
    let position = (0..other.size()).find(|&p| other.device(p) == device);
    other.coordinates(position.expect("both meshes have the same devices"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All lists of distinct axes.
    fn lists(mesh: &Mesh) -> Vec<Vec<AxisRef>> {
        let all: Vec<AxisRef> = mesh.all_axes().collect();
        let mut out: Vec<Vec<AxisRef>> = vec![vec![]];
        for i in 0..4 {
            let longer: Vec<_> = out
                .iter()
                .filter(|l| l.len() == i)
                .flat_map(|l| all.iter().filter(|a| !l.contains(a)).map(|&a| [l.clone(), vec![a]].concat()))
                .collect();
            out.extend(longer);
        }
        out
    }

    /// All shardings of a matrix.
    fn shardings(mesh: &Arc<Mesh>) -> Vec<Sharding> {
        let lists = lists(mesh);
        let disjoint = |a: &[AxisRef], b: &[AxisRef]| a.iter().all(|x| !b.contains(x));
        let pairs = lists.iter().flat_map(|a| lists.iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| disjoint(a, b)).map(|(a, b)| Sharding::closed(mesh, vec![a.clone(), b.clone()])).collect()
    }

    fn check(from: &Sharding, to: &Sharding) {
        let (axes, pairs) = permutation(from, to);
        let (mesh, into) = (&from.mesh, &to.mesh);
        let position = |mesh: &Mesh, device: usize| (0..mesh.size()).find(|&p| mesh.device(p) == device).unwrap();
        for device in 0..mesh.size() {
            let receiver = mesh.coordinates(position(mesh, device));
            let index = AxisRef::index_in(mesh, &axes, &receiver);
            let (source, _) = pairs.iter().find(|(_, t)| *t == index).expect("every device is a target");
            let sender = with_index_in(mesh, &axes, &receiver, *source);
            let wanted = to.shard_index(&into.coordinates(position(into, device)));
            assert_eq!(from.shard_index(&sender), wanted, "{from} to {to}: {pairs:?}");
        }
    }

    #[test]
    fn permutations_bring_each_device_the_shard_that_it_shall_hold() {
        let mesh = Arc::new(Mesh::new("mesh", [("x", 2), ("y", 2), ("z", 4)]).unwrap());
        let mut ids: Vec<usize> = (0..16).collect();
        ids.rotate_left(5);
        let other = Arc::new(Mesh::clone(&mesh).with_device_ids(ids).unwrap());
        let from = shardings(&mesh);
        for to in shardings(&mesh).iter().chain(&shardings(&other)) {
            from.iter().filter(|s| s.shard_counts() == to.shard_counts()).for_each(|s| check(s, to));
        }
    }
}
