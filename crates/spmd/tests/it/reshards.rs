//! Random reshards between random layouts compute the same on whole values, by shards and on each device.

use crate::generate::Chooser;
use crate::random_programs::{per_device, same};
use shardwise_base::{AxisRef, Literal, Mesh, Sharding};
use shardwise_interp::{run, run_by_shards};
use shardwise_ir::text::parse;
use shardwise_ir::{Module, verify};
use shardwise_ops::OPS;
use shardwise_ops::shardy::ShardyCollective;
use shardwise_spmd::{Options, partition, run_until};
use std::sync::Arc;

/// Returns the parts of the mesh's axes, of which one in three is cut.
fn parts(choose: &mut Chooser, mesh: &Mesh) -> Vec<AxisRef> {
    let cut = |axis: AxisRef, size: usize| {
        let rest = axis.size(mesh) / size;
        vec![AxisRef::sub(mesh, axis.axis, 1, size), AxisRef::sub(mesh, axis.axis, size, rest)]
    };
    let mut all = vec![];
    for axis in mesh.all_axes() {
        let cuts: Vec<usize> = (2..axis.size(mesh)).filter(|n| axis.size(mesh).is_multiple_of(*n)).collect();
        match cuts.is_empty() || choose.below(3) > 0 {
            true => all.push(axis),
            false => all.extend(cut(axis, cuts[choose.below(cuts.len())])),
        }
    }
    all
}

fn layout(choose: &mut Chooser, mesh: &Arc<Mesh>, rank: usize) -> Sharding {
    let mut parts = parts(choose, mesh);
    let mut dims = vec![vec![]; rank];
    while !parts.is_empty() {
        let part = parts.swap_remove(choose.below(parts.len()));
        if let Some(dim) = dims.get_mut(choose.below(rank + 1)) {
            AxisRef::push_or_merge(dim, part, mesh);
        }
    }
    Sharding::closed(mesh, dims)
}

fn module(mesh: &Mesh, from: &Sharding, to: &Sharding, shape: &[usize]) -> Module {
    let ty: String = shape.iter().map(|n| format!("{n}x")).collect();
    let axes: Vec<String> = mesh.axes.iter().map(|a| format!("\"{}\"={}", a.name, a.size)).collect();
    let text = format!(
        "sdy.mesh @mesh = <[{}]>\nfunc.func @main(%arg0: tensor<{ty}i32> {{sdy.sharding = #sdy.sharding{from}}}) -> \
         (tensor<{ty}i32> {{sdy.sharding = #sdy.sharding{to}}}) {{\n  return %arg0 : tensor<{ty}i32>\n}}",
        axes.join(", ")
    );
    let module = parse("test.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found = verify(&module);
    assert!(!found.has_errors(), "{found}\n{text}");
    module
}

/// Checks a reshard. Returns whether it is one exchange, and whether it has an all-to-all with several moves.
fn check(mesh: &Mesh, from: &Sharding, to: &Sharding, shape: &[usize]) -> [bool; 2] {
    let module = module(mesh, from, to, shape);
    let what = format!("{from} -> {to} of {shape:?} on {mesh}");
    let count: usize = shape.iter().product();
    let args = [Literal::new(shape, &(0..count as i32).collect::<Vec<_>>())];
    let whole = run(&module, &args).unwrap();
    let staged = run_until("collectives", &module, &mut Options::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let found = run_by_shards(&staged, &args).unwrap_or_else(|e| panic!("{what}: {e}"));
    same(&found, &whole, &format!("by shards: {what}"));
    let partitioned = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    same(&per_device(&partitioned, &args), &whole, &what);
    let body = &staged.main().unwrap().body;
    let steps: Vec<_> = body.walk().into_iter().filter_map(|op| ShardyCollective::of(&staged.view(body, op))).collect();
    let has = |is: fn(&ShardyCollective) -> bool| steps.iter().any(is);
    [
        has(|s| matches!(s, ShardyCollective::Exchange)),
        has(|s| matches!(s, ShardyCollective::AllToAll { params } if params.len() > 1)),
    ]
}

#[test]
fn random_reshards_are_identities() {
    let choose = &mut Chooser::new(7);
    let mut counts = [0; 2];
    for _ in 0..600 {
        let sizes = [&[2, 4][..], &[8], &[2, 2, 2], &[2, 3, 2], &[4, 4], &[6, 2], &[1, 4, 2], &[12]][choose.below(8)];
        let mesh = Arc::new(Mesh::new("mesh", ["a", "b", "c"].into_iter().zip(sizes.iter().copied())).unwrap());
        let rank = 1 + choose.below(4);
        let (from, to) = (layout(choose, &mesh, rank), layout(choose, &mesh, rank));
        let is_even = choose.below(3) > 0;
        let size = |choose: &mut Chooser| match is_even {
            true => [12, 24][choose.below(2)],
            false => [0, 1, 2, 3, 5, 7, 8, 12][choose.below(8)],
        };
        let shape: Vec<usize> = (0..rank).map(|_| size(choose)).collect();
        let limit = if shape.iter().product::<usize>() > 30_000 { vec![12; rank] } else { shape };
        let found = check(&mesh, &from, &to, &limit);
        counts.iter_mut().zip(found).for_each(|(count, found)| *count += usize::from(found));
    }
    assert!(counts.iter().all(|&n| n >= 20), "too few exchanges and combined all-to-alls: {counts:?}");
}
