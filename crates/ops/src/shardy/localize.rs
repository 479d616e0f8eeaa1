//! Shardy's collectives on per-device values.

use super::exchange::{self, Exchange};
use super::{AllToAllParam, ShardyCollective, axes_to_fill};
use crate::Opcode;
use crate::collective::{AxisList, Permutation};
use crate::facts::*;
use crate::make::constant;
use crate::make_collective as make;
use shardwise_base::{AxisRef, Diagnostic, Literal, Reason, Sharding};
use shardwise_ir::{Builder, Op, Value};
use std::cmp::Reverse;
use std::sync::Arc;

/// Builds the per-device ops of one of Shardy's collectives, whose sharded dimensions all divide evenly at this stage.
/// Always returns `Ok`.
pub(super) fn collective(cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
    use ShardyCollective::{
        AllGather, AllReduce, AllSlice, AllToAll, CollectivePermute, ReduceScatter, ReplicatedToUnreduced,
        ShardedToUnreduced,
    };
    let step = ShardyCollective::of(&cx.op).expect("verified");
    let layout = |s: &Option<Sharding>| s.clone().expect("a tensor has a sharding");
    let (from, to) = (layout(&cx.operand_shardings[0]), layout(&cx.result_shardings[0]));
    let (mesh, mut x) = (from.mesh.clone(), cx.operands[0]);
    let first_new = cx.builder.body.op_count();
    let b = &mut *cx.builder;
    let result = cx.result_types[0].as_tensor().expect("a collective moves tensors").clone();
    if result.shape.contains(&0) {
        // There is nothing to move or to sum.
        return Ok(vec![constant(b, Literal::zeros(result.dtype, result.shape.clone()))]);
    }
    let slowdown = |axes: &[AxisRef]| mesh.rates.as_ref().map(|rates| rates.slowdown(axes.iter().copied()));
    match &step {
        AllGather { dims } => {
            for (dim, axes) in ordered(dims, |axes| Reverse(slowdown(axes))) {
                x = make::all_gather(b, x, dim, &mesh, axes);
            }
        }
        AllSlice { dims } => x = make::local_slice(b, x, &mesh, dims),
        AllToAll { params } if params.len() > 1 && is_aligned(&from, &to) => {
            let exchange = Exchange::between(&from, &to).expect("it is aligned");
            x = exchange::build(b, x, &exchange, &result.shape);
        }
        AllToAll { params } => {
            for AllToAllParam { axes, src_dim, tgt_dim } in params {
                x = make::all_to_all(b, x, *tgt_dim, *src_dim, &mesh, axes);
            }
        }
        CollectivePermute => {
            x = make::collective_permute(b, x, &permutation(&from, &to));
        }
        ShardyCollective::Exchange => {
            x = match Exchange::between(&from, &to).filter(Exchange::is_small) {
                Some(exchange) => exchange::build(b, x, &exchange, &result.shape),
                // An exchange of boxes is no op at this stage. A program may have one that takes too many rounds.
                None => through_replicated(b, x, &from, &to),
            };
        }
        AllReduce { axes, reduce } => x = make::all_reduce(b, x, *reduce, &mesh, axes),
        ReduceScatter { dims, reduce } => {
            for (dim, axes) in ordered(dims, slowdown) {
                x = make::reduce_scatter(b, x, dim, *reduce, &mesh, axes);
            }
        }
        ReplicatedToUnreduced { axes } => x = make::on_first(b, x, &mesh, axes),
        ShardedToUnreduced { dims } => x = make::among_nothing(b, x, &mesh, dims, cx.result_types[0].shape()),
    }
    // Ops inside reducers need no reason of their own.
    let is_new = |op: &Op| op.index() >= first_new;
    let here: Vec<Op> = b.body[b.region].ops.iter().rev().copied().take_while(is_new).collect();
    let mut reason = cx.op.data().reason.clone();
    for &op in here.iter().rev() {
        b.body.op_mut(op).reason = reason.clone();
        if is_collective(Opcode::of(b.body[op].code)) {
            reason = reason.map(next_step);
        }
    }
    Ok(vec![x])
}

/// Returns the dimensions with axes, by this key of the axes, and then in their order. Along slow axes, values are
/// gathered first and summed last, while they are small.
fn ordered<K: Ord>(dims: &[Vec<AxisRef>], key: impl Fn(&[AxisRef]) -> K) -> Vec<(usize, &Vec<AxisRef>)> {
    let mut found: Vec<_> = dims.iter().enumerate().filter(|(_, axes)| !axes.is_empty()).collect();
    found.sort_by_key(|(_, axes)| key(axes));
    found
}

fn is_collective(opcode: Opcode) -> bool {
    use Opcode::{AllGather, AllReduce, AllToAll, CollectivePermute, ReduceScatter};
    matches!(opcode, AllGather | AllReduce | AllToAll | CollectivePermute | ReduceScatter)
}

fn next_step(reason: Arc<Reason>) -> Arc<Reason> {
    match reason.reshard {
        Some(_) => Arc::new(Reason { step: reason.step + 1, ..(*reason).clone() }),
        None => reason,
    }
}

fn through_replicated(b: &mut Builder<'_>, mut x: Value, from: &Sharding, to: &Sharding) -> Value {
    let axes = |s: &Sharding| s.dims.iter().map(|d| d.axes.clone()).collect::<Vec<_>>();
    for (dim, axes) in axes(from).iter().enumerate().filter(|(_, axes)| !axes.is_empty()) {
        x = make::all_gather(b, x, dim, &from.mesh, axes);
    }
    make::local_slice(b, x, &to.mesh, &axes(to))
}

/// Returns true if an aligned exchange, which has at most one all-to-all, leads from one layout to the other.
fn is_aligned(from: &Sharding, to: &Sharding) -> bool {
    from.mesh.same_devices(&to.mesh) && Exchange::between(from, to).is_some_and(|exchange| exchange.is_aligned())
}

/// Returns the permutation that moves shards with the layout `from` to the devices that need them in the layout `to`.
///
/// Both layouts have as many shards. The axes that only the other layout has are listed after a layout's own axes, so
/// that each device that needs a copy of a shard receives it from a different device. If the meshes have their devices
/// in different orders, all axes are listed.
pub fn permutation(from: &Sharding, to: &Sharding) -> Permutation {
    let own = |s: &Sharding| s.split_axes().collect::<Vec<AxisRef>>();
    let mut shared = [own(from), own(to)].concat();
    if from.mesh.device_ids != to.mesh.device_ids {
        shared.extend(from.mesh.all_axes());
    }
    let axes = AxisRef::union(&from.mesh, shared);
    let list = |s: &Sharding| {
        let own = own(s);
        let rest = axes_to_fill(&s.mesh, &own, &axes);
        AxisList::new(&s.mesh, [own, rest].concat())
    };
    Permutation::reorder(list(from), list(to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::Mesh;

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

    fn shardings(mesh: &Arc<Mesh>) -> Vec<Sharding> {
        let lists = lists(mesh);
        let disjoint = |a: &[AxisRef], b: &[AxisRef]| a.iter().all(|x| !b.contains(x));
        let pairs = lists.iter().flat_map(|a| lists.iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| disjoint(a, b)).map(|(a, b)| Sharding::closed(mesh, vec![a.clone(), b.clone()])).collect()
    }

    fn check(from: &Sharding, to: &Sharding) {
        let permutation = permutation(from, to);
        let position = |mesh: &Mesh, device: usize| (0..mesh.size()).find(|&p| mesh.device(p) == device).unwrap();
        for mesh in [&from.mesh, &to.mesh] {
            let pairs = permutation.to_device_pairs(mesh);
            assert_eq!(pairs.len(), mesh.size(), "every device is a target");
            for (sender, receiver) in pairs {
                let held = from.shard_index(&from.mesh.coordinates(position(&from.mesh, sender)));
                let wanted = to.shard_index(&to.mesh.coordinates(position(&to.mesh, receiver)));
                assert_eq!(held, wanted, "{from} to {to}: {permutation:?}");
            }
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
