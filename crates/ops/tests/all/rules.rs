//! Sharding rules, as Shardy's registry has them.

use crate::harness::*;
use shardwise_base::{DType, Literal};
use shardwise_ir::text::parse;
use shardwise_ir::{Builder, OpView, TensorType, Value};
use shardwise_ops::dot::DotDims;
use shardwise_ops::{Facts, OPS, Opcode, ReduceKind, RuleFact, make};

fn check(args: &[TensorType], build: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value, expected: &str) {
    let m = module(args, |b, x| vec![build(b, x)]);
    let op = OpView::new(&m, &m.funcs[0].body, *ops(&m).last().expect("an op"));
    let facts: &dyn Facts = Opcode::of_view(&op).facts();
    let text = match facts.rule(&op) {
        RuleFact::Rule(rule) => rule.to_string(),
        RuleFact::None(why) => why.to_string(),
    };
    assert_eq!(text, expected, "{}", op.name());
}

#[test]
fn pointwise() {
    let x = f32s(&[2, 4]);
    let pointwise = "([i, j], [i, j])->([i, j]) {i=2, j=4}";
    check(&[x.clone(), x.clone()], |b, x| make::add(b, x[0], x[1]), pointwise);
    check(&[x.clone(), x.clone()], |b, x| make::compare(b, "EQ", x[0], x[1]), pointwise);
    check(std::slice::from_ref(&x), |b, x| make::convert(b, x[0], DType::BF16), "([i, j])->([i, j]) {i=2, j=4}");
    check(&[f32s(&[]), f32s(&[])], |b, x| make::add(b, x[0], x[1]), "([], [])->([])");
}

#[test]
fn scalars_have_no_factors() {
    let (x, s) = (f32s(&[2, 4]), f32s(&[]));
    let pred = TensorType::scalar(DType::I1);
    check(
        &[pred, x.clone(), x.clone()],
        |b, x| make::select(b, x[0], x[1], x[2]),
        "([], [i, j], [i, j])->([i, j]) {i=2, j=4}",
    );
    check(&[s.clone(), x, s], |b, x| make::clamp(b, x[0], x[1], x[2]), "([], [i, j], [])->([i, j]) {i=2, j=4}");
}

#[test]
fn bitcast_convert() {
    let cast = |b: &mut Builder<'_>, x: Value, to: TensorType| {
        b.value(Opcode::BitcastConvert, [x], Default::default(), to.into())
    };
    let (wide, narrow) = (f32s(&[2, 4]), TensorType::new(DType::BF16, [2, 4, 2]));
    check(
        std::slice::from_ref(&wide),
        |b, x| cast(b, x[0], narrow.clone()),
        "([i, j])->([i, j, k]) {i=2, j=4, k=2} need_replication={k}",
    );
    check(
        std::slice::from_ref(&narrow),
        |b, x| cast(b, x[0], wide.clone()),
        "([i, j, k])->([i, j]) {i=2, j=4, k=2} need_replication={k}",
    );
}

#[test]
fn broadcast_in_dim() {
    check(
        &[f32s(&[1, 4])],
        |b, x| make::broadcast_in_dim(b, x[0], &[2, 3, 4], &[0, 2]),
        "([i, l])->([j, k, l]) {i=1, j=2, k=3, l=4}",
    );
    check(&[f32s(&[])], |b, x| make::broadcast_scalar(b, x[0], &[2, 3]), "([])->([i, j]) {i=2, j=3}");
    check(&[f32s(&[1, 4])], |b, x| make::broadcast_in_dim(b, x[0], &[1, 4], &[0, 1]), "([i, j])->([i, j]) {i=1, j=4}");
}

#[test]
fn concatenate() {
    let of = |size: usize| format!("([i, j], [i, j])->([i, j]) {{i=2, j={size}}} permutation={{j}}");
    let x = [f32s(&[2, 4])];
    check(&x, |b, x| make::concatenate(b, &[x[0], x[0]], 1), &of(8));
    // A roll.
    let roll = |b: &mut Builder<'_>, x: &[Value]| {
        let (left, right) = (make::slice_dim(b, x[0], 1, 1, 4), make::slice_dim(b, x[0], 1, 0, 1));
        make::concatenate(b, &[left, right], 1)
    };
    check(&x, roll, &of(4));
    // A halo: a tensor and a piece of it.
    let halo = |b: &mut Builder<'_>, x: &[Value]| {
        let edge = make::slice_dim(b, x[0], 1, 0, 1);
        make::concatenate(b, &[x[0], edge], 1)
    };
    check(&x, halo, &of(5));
}

#[test]
fn dot_general() {
    let dims = DotDims { lhs_batch: vec![0], rhs_batch: vec![0], lhs_contract: vec![2], rhs_contract: vec![1] };
    check(
        &[f32s(&[8, 2, 3]), f32s(&[8, 3, 5])],
        |b, x| make::dot_general(b, x[0], x[1], &dims, DType::F32),
        "([i, j, l], [i, l, k])->([i, j, k]) {i=8, j=2, k=5, l=3} reduction={l}",
    );
}

#[test]
fn dot() {
    let dot = |b: &mut Builder<'_>, x: &[Value], to: TensorType| {
        b.value(Opcode::Dot, x.iter().copied(), Default::default(), to.into())
    };
    let matrix_vector = "([i, j], [j])->([i]) {i=2, j=4} reduction={j}";
    check(&[f32s(&[2, 4]), f32s(&[4])], |b, x| dot(b, x, f32s(&[2])), matrix_vector);
    check(&[f32s(&[4]), f32s(&[4])], |b, x| dot(b, x, f32s(&[])), "([i], [i])->([]) {i=4} reduction={i}");
}

#[test]
fn blocks() {
    let (x, i) = (f32s(&[2, 4]), i32s(&[]));
    check(
        &[x.clone(), i.clone()],
        |b, x| make::dynamic_slice(b, x[0], &[x[1], x[1]], &[2, 3]),
        "([i, j], [], [])->([i, k]) {i=2, j=4, k=3} reduction={j} need_replication={k}",
    );
    let update = |b: &mut Builder<'_>, x: &[Value]| make::dynamic_update_slice(b, x[0], x[1], &[x[2], x[2]]);
    check(
        &[x.clone(), f32s(&[2, 3]), i.clone()],
        update,
        "([i, j], [i, k], [], [])->([i, j]) {i=2, j=4, k=3} need_replication={k}",
    );
    check(
        &[x.clone(), f32s(&[1, 4]), i],
        update,
        "([i, k], [j, k], [], [])->([i, k]) {i=2, j=1, k=4} need_replication={j}",
    );
    check(
        &[x],
        |b, x| make::slice(b, x[0], &[0, 0], &[2, 4], &[1, 2]),
        "([i, j])->([i, j]) {i=2, j=4} permutation={j}",
    );
}

#[test]
fn pad_and_reverse() {
    let args = [f32s(&[2, 4]), f32s(&[])];
    let moved = "([i, j], [])->([i, j]) {i=2, j=4} permutation={j}";
    check(&args, |b, x| make::pad(b, x[0], x[1], &[0, 1], &[0, 2], &[0, 0]), moved);
    // Here Shardy lets `j` pass through.
    check(&args, |b, x| make::pad(b, x[0], x[1], &[0, 1], &[0, -1], &[0, 0]), moved);
    check(&args[..1], |b, x| make::reverse(b, x[0], &[1]), "([i, j])->([i, j]) {i=2, j=4} permutation={j}");
}

#[test]
fn reduce() {
    check(
        &[f32s(&[2, 4]), f32s(&[])],
        |b, x| make::reduce_from(b, ReduceKind::Add, x[0], x[1], &[1]),
        "([i, j], [])->([i]) {i=2, j=4} reduction={j}",
    );
}

#[test]
fn transpose_and_reshape() {
    check(&[f32s(&[8, 2, 3])], |b, x| make::transpose(b, x[0], &[2, 0, 1]), "([j, k, i])->([i, j, k]) {i=3, j=8, k=2}");
    check(&[f32s(&[8, 3])], |b, x| make::reshape(b, x[0], &[24]), "([i, j])->([ij]) {i=8, j=3}");
    check(&[f32s(&[0, 4])], |b, x| make::reshape(b, x[0], &[4, 0]), "a reshape of nothing has no factors");
    check(&[f32s(&[])], |b, x| make::reshape(b, x[0], &[1, 1]), "([])->([i, j]) {i=1, j=1}");
}

#[test]
fn products_are_padded_with_zeros_if_there_are_any() {
    for (dtype, has_zero) in [("f32", true), ("f8E8M0FNU", false)] {
        let text = r#"func.func @main(%a: tensor<6x3xT>, %b: tensor<3x4xT>, %c: tensor<2x3x4xT>, %s: tensor<2xi32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x3xT>, tensor<3x4xT>) -> tensor<6x4xf32>
  %1 = "chlo.ragged_dot"(%a, %c, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x3xT>, tensor<2x3x4xT>, tensor<2xi32>) -> tensor<6x4xf32>
  %2 = "stablehlo.convolution"(%a, %b) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<6x3xT>, tensor<3x4xT>) -> tensor<6x4xf32>
  return
}"#;
        let module =
            parse("t.mlir", &text.replace("xT>", &format!("x{dtype}>")), &OPS).unwrap_or_else(|e| panic!("{e}"));
        for op in ops(&module) {
            let op = OpView::new(&module, &module.funcs[0].body, op);
            let facts: &dyn Facts = Opcode::of_view(&op).facts();
            assert!((0..2).all(|i| facts.neutral(&op, i).is_some() == has_zero), "{} of {dtype}", op.name());
        }
    }
}

#[test]
fn constants_have_none() {
    check(&[], |b, _| make::constant(b, Literal::new([2], &[1i32, 2])), "a constant has no operands");
    check(&[], |b, _| make::iota(b, i32s(&[2, 3]), 1), "an iota has no operands");
}
