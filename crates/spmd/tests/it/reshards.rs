//! Random reshards between random layouts compute the same on whole values, by shards and on each device, on both
//! engines.

use crate::generate::Chooser;
use shardwise_base::{AxisIndex, AxisRef, DType, Literal, Mesh, Sharding};
use shardwise_check::generate::Case;
use shardwise_check::run;
use shardwise_ir::text::parse;
use shardwise_ir::{Module, verify};
use shardwise_ops::shardy::ShardyCollective;
use shardwise_ops::{OPS, Opcode};
use shardwise_spmd::{Options, partition, run_until};
use std::sync::Arc;

/// Returns the axes of the mesh. An axis whose size is not 1 and no prime is replaced by two parts with a probability
/// of one in three.
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

/// Checks that a reshard computes the identity, and panics if it does not. Returns three values: true if it contains an
/// exchange, true if it contains an all-to-all with several moves, and true if it contains an exchange of boxes.
fn check(mesh: &Mesh, from: &Sharding, to: &Sharding, shape: &[usize]) -> [bool; 3] {
    let module = module(mesh, from, to, shape);
    let what = format!("{from} -> {to} of {shape:?} on {mesh}");
    let count: usize = shape.iter().product();
    let inputs = vec![Literal::new(shape, &(0..count as i32).collect::<Vec<_>>())];
    let case = Case { seed: 0, module, inputs };
    run::check(&case).unwrap_or_else(|why| panic!("{what}: {why}"));
    let until = |pass: &str| run_until(pass, &case.module, &mut Options::default()).expect("it was checked");
    let (staged, exchanged) = (until("collectives"), until("halo"));
    let is_manual = |module: &Module| {
        let body = &module.main().unwrap().body;
        body.walk().into_iter().any(|op| body[op].code == Opcode::ManualComputation.into())
    };
    let body = &staged.main().unwrap().body;
    let steps: Vec<_> = body.walk().into_iter().filter_map(|op| ShardyCollective::of(&staged.view(body, op))).collect();
    let has = |is: fn(&ShardyCollective) -> bool| steps.iter().any(is);
    [
        has(|s| matches!(s, ShardyCollective::Exchange)),
        has(|s| matches!(s, ShardyCollective::AllToAll { params } if params.len() > 1)),
        is_manual(&exchanged),
    ]
}

#[test]
fn random_reshards_are_identities() {
    let choose = &mut Chooser::new(7);
    let mut counts = [0; 3];
    for _ in 0..800 {
        let sizes = [&[2, 4][..], &[8], &[2, 2, 2], &[2, 3, 2], &[4, 4], &[6, 2], &[1, 4, 2], &[12], &[3, 4], &[5, 2]];
        let sizes = sizes[choose.below(10)];
        let mesh = Arc::new(Mesh::new("mesh", ["a", "b", "c"].into_iter().zip(sizes.iter().copied())).unwrap());
        let rank = 1 + choose.below(4);
        let (from, to) = (layout(choose, &mesh, rank), layout(choose, &mesh, rank));
        let is_even = choose.below(3) > 0;
        let size = |choose: &mut Chooser| match is_even {
            true => [12, 24, 60][choose.below(3)],
            false => [0, 1, 2, 3, 5, 7, 8, 12, 29, 61][choose.below(10)],
        };
        let shape: Vec<usize> = (0..rank).map(|_| size(choose)).collect();
        let limit = if shape.iter().product::<usize>() > 30_000 { vec![12; rank] } else { shape };
        let found = check(&mesh, &from, &to, &limit);
        counts.iter_mut().zip(found).for_each(|(count, found)| *count += usize::from(found));
    }
    assert!(counts.iter().all(|&n| n >= 20), "too few exchanges, combined all-to-alls and boxes: {counts:?}");
}

#[test]
fn blocks_that_do_not_nest() {
    let mesh = Arc::new(Mesh::new("mesh", [("a", 4), ("b", 3), ("c", 2)]).unwrap());
    let lists: [&[usize]; 7] = [&[0], &[1], &[2], &[1, 2], &[0, 2], &[0, 1], &[1, 0]];
    let layout = |list: &[usize]| {
        let axes = list.iter().map(|&i| AxisRef::full(AxisIndex::new(i))).collect();
        Sharding::closed(&mesh, vec![axes])
    };
    for (i, from) in lists.iter().enumerate() {
        for (j, to) in lists.iter().enumerate().filter(|(j, _)| *j != i) {
            for size in [24 + 7 * i + j, 96, 200 + 13 * j + i] {
                check(&mesh, &layout(from), &layout(to), &[size]);
            }
        }
    }
}

/// Tests a reshard from sixths to thirds, which takes two permutes: the bound is that of the whole reshard, and counts
/// once.
#[test]
fn a_reshard_of_several_permutes_has_one_bound() {
    let mesh = Arc::new(Mesh::new("mesh", [("a", 2), ("b", 3)]).unwrap());
    let axes = |list: &[usize]| list.iter().map(|&i| AxisRef::full(AxisIndex::new(i))).collect::<Vec<_>>();
    let layout = |list: &[usize]| Sharding::closed(&mesh, vec![axes(list), vec![]]);
    let module = module(&mesh, &layout(&[0, 1]), &layout(&[1]), &[10, 4]);
    let found = partition(&module, &mut Options::default()).unwrap().communication;
    assert_eq!(found.rows.len(), 2, "{found}");
    assert_eq!((found.bytes_least(), found.bytes_received()), (64, 64), "{found}");
}

/// Tests a reshard from halves to thirds of a dimension whose positions need more than 32 bits.
#[test]
fn positions_beyond_32_bits_are_counted_in_64() {
    let text = r#"sdy.mesh @mesh = <["a"=2, "b"=3]>
func.func @main(%a: tensor<12884901892xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<12884901892xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) {
  return %a : tensor<12884901892xi8>
}"#;
    let module = parse("test.mlir", text, &OPS).unwrap();
    let local = partition(&module, &mut Options::default()).unwrap().module;
    let body = &local.main().unwrap().body;
    let views: Vec<_> = body.walk().into_iter().map(|op| local.view(body, op)).collect();
    let is_long = |shape: &[usize]| shape.iter().any(|&n| n > i32::MAX as usize);
    let starts = views.iter().filter(|v| {
        let first = if Opcode::of_view(v) == Opcode::DynamicSlice { 1 } else { 2 };
        let moves = matches!(Opcode::of_view(v), Opcode::DynamicSlice | Opcode::DynamicUpdateSlice);
        moves && is_long(v.operand_shape(0)) && v.operand_tensor(first).dtype == DType::I32
    });
    let positions = views.iter().filter(|v| {
        Opcode::of_view(v) == Opcode::Iota && is_long(v.result_shape(0)) && v.result_tensor(0).dtype == DType::I32
    });
    assert_eq!((starts.count(), positions.count()), (0, 0));
    assert!(views.iter().any(|v| Opcode::of_view(v) == Opcode::CollectivePermute));
}
