//! Tests each guarantee with a mutant of the pass that ensures it: [`verify_stage`] must find it.

use super::*;
use crate::{Options, PASSES, run_until};
use shardwise_base::{AxisIndex, DType, Literal, Varying};
use shardwise_ir::Builder;
use shardwise_ir::text::parse;
use shardwise_ops::{OPS, make};

/// The change that makes a mutant of a pass.
enum Mutant {
    /// The pass does nothing: it returns the module of the pass before it, or the first pass its input.
    Skips,
    /// The pass runs, followed by this change of the main function.
    Spoils(fn(&mut Func)),
}
use Mutant::{Skips, Spoils};

#[track_caller]
fn finds(pass: &str, guarantee: Guarantee, program: &str, mutant: Mutant) {
    let module = parse("test.mlir", program, &OPS).unwrap_or_else(|e| panic!("{e}"));
    let until = |name: &str| run_until(name, &module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let at = PASSES.iter().position(|p| p.name == pass).expect("a pass");
    assert!(PASSES[at].ensures.iter().any(|g| g.says == guarantee.says), "`{pass}` does not ensure it");
    let right = until(pass);
    assert!(verify_stage(PASSES, pass, &right).is_ok());
    let broken = match mutant {
        Skips if at == 0 => module.clone(),
        Skips => until(PASSES[at - 1].name),
        Spoils(change) => {
            let main = right.func_id("main").expect("there is a main function");
            let mut spoilt = right;
            change(&mut spoilt.funcs[main.index()]);
            spoilt
        }
    };
    let found = verify_stage(PASSES, pass, &broken).expect_err("the mutant must be found");
    assert!(found.iter().any(|d| d.message.ends_with(guarantee.says)), "{found}");
}

#[test]
fn every_guarantee_of_a_pass_has_a_mutant() {
    // This file from the first mutant on, so that the names in this test do not count.
    let tests = include_str!("tests.rs").split_once("fn import()").expect("the first mutant").1;
    let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
    let used: Vec<&str> = tests.split(|c| !is_name(c)).collect();
    for guarantee in PASSES.iter().flat_map(|pass| pass.ensures) {
        let (name, _) = NAMES.iter().find(|(_, says)| *says == guarantee.says).expect("it is declared here");
        assert!(used.contains(name), "no mutant breaks {name}");
    }
}

#[test]
fn import() {
    let program = r#"func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}"#;
    finds("import", ONE_NOTATION, program, Skips);
}

#[test]
fn meshes() {
    let program = r#"sdy.mesh @a = <["x"=2, "y"=2]>
sdy.mesh @b = <["z"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>},
    %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@b, [{"z"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}"#;
    finds("meshes", ONE_MESH, program, Skips);
}

#[test]
fn simplify() {
    let promoted = r#"func.func @main(%a: tensor<8xf16>, %i: tensor<f16>) -> tensor<f32> {
  %0 = "stablehlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf16>, tensor<f16>) -> tensor<f32>
  return %0 : tensor<f32>
}"#;
    finds("simplify", PLAIN_REDUCERS, promoted, Skips);
    let variadic = r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%c: tensor<4xf32>, %d: tensor<4xf32>) {
    %1:2 = "stablehlo.all_reduce"(%c, %d) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %2 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %3 = stablehlo.add %1#0, %1#1 : tensor<4xf32>
    sdy.return %3 : tensor<4xf32>
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"#;
    finds("simplify", SINGLE_COLLECTIVES, variadic, Skips);
    let random = r#"func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<8xf32> {
  %shape = stablehlo.constant dense<8> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"#;
    finds("simplify", NUMBERED_STREAMS, random, Skips);
    let steps = r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = sdy.all_gather [{"x"}] %a out_sharding=<@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}"#;
    finds("simplify", NO_STEPS_YET, steps, Skips);
}

#[test]
fn dequantize() {
    let program = r#"func.func @main(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>> {
  %0 = stablehlo.add %a, %a : tensor<4x!quant.uniform<i8:f32, 0.5>>
  return %0 : tensor<4x!quant.uniform<i8:f32, 0.5>>
}"#;
    finds("dequantize", PLAIN_TYPES, program, Skips);
}

/// A program with a product in a called function. Its contracted dimension is split and of an uneven size, and its
/// result has a constraint.
const PRODUCT: &str = r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<5x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = call @product(%a, %b) : (tensor<6x5xf32>, tensor<5x8xf32>) -> tensor<6x8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<6x8xf32>
  %2 = stablehlo.negate %1 : tensor<6x8xf32>
  return %2 : tensor<6x8xf32>
}
func.func private @product(%a: tensor<6x5xf32>, %b: tensor<5x8xf32>) -> tensor<6x8xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x5xf32>, tensor<5x8xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}
func.func private @unused(%a: tensor<6x5xf32>) -> tensor<6x5xf32> {
  return %a : tensor<6x5xf32>
}"#;

/// A sum over devices, which are named by their numbers, in a manual computation.
const MANUAL: &str = r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%c: tensor<4xf32>) {
    %1 = "stablehlo.all_reduce"(%c) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %2 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"#;

#[test]
fn propagate() {
    finds("propagate", NO_UNUSED, PRODUCT, Skips);
}

#[test]
fn what_a_private_main_function_refers_to_is_used() {
    let program = r#"sdy.mesh @mesh = <["x"=2]>
func.func private @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @foo(%a) {called_computations = [@f]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
func.func private @g(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}"#;
    let module = parse("test.mlir", program, &OPS).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(unused(&module).map(|(_, what)| what), Some("`@g`".to_string()));
}

#[test]
fn lower() {
    let named = r#"func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.named_computation<"f">(%a) (%b: tensor<4xf32>) {
    %1 = stablehlo.negate %b : tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#;
    finds("lower", INLINED, named, Skips);
    finds("lower", MANUAL_COLLECTIVES, MANUAL, Spoils(|main| without_attr(main, "manual_axes")));
}

/// A product with a sum over "x" that the program leaves unreduced, and a function of it that is not linear.
const STATED_SUM: &str = r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %c: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<6x6xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %1 = stablehlo.multiply %0, %c {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : tensor<6x6xf32>
  %2 = stablehlo.cosine %1 : tensor<6x6xf32>
  return %2 : tensor<6x6xf32>
}"#;

#[test]
fn reshard() {
    finds("reshard", NO_MARKS, PRODUCT, Skips);
    finds("reshard", LAID_OUT, PRODUCT, Spoils(|main| main.body.value_mut(Value::new(0)).sharding = None));
    finds("reshard", AGREED, PRODUCT, Spoils(|main| split(main, Opcode::DotGeneral)));
    finds("reshard", AGREED_EDGES, PRODUCT, Spoils(|main| split(main, Opcode::Negate)));
    finds("reshard", ALLOWED_SUMMANDS, STATED_SUM, Spoils(forget_sum));
    finds("reshard", ALLOWED_SUMMANDS, STATED_SUM, Spoils(multiply_by_sum));
}

#[test]
fn defer() {
    // An Explicit axis keeps `reshard` from leaving the sum to the reduction itself.
    let total = r#"sdy.mesh @mesh = <["x"=2, "y"=2]> {shardwise.axis_kinds = ["auto", "explicit"]}
func.func @main(%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}"#;
    finds("defer", DEFERRED, total, Skips);
}

#[test]
fn collectives() {
    finds("collectives", NO_RESHARDS, PRODUCT, Skips);
}

/// A roll along a dimension that is split.
const ROLL: &str = r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %a [8:16] : (tensor<16xf32>) -> tensor<8xf32>
  %1 = stablehlo.slice %a [0:8] : (tensor<16xf32>) -> tensor<8xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %2 : tensor<16xf32>
}"#;

#[test]
fn join() {
    finds("join", JOINED, ROLL, Skips);
}

#[test]
fn share() {
    let copies = r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.constant dense<2.0> : tensor<4xf32>
  %1 = stablehlo.constant dense<2.0> : tensor<4xf32>
  %2 = stablehlo.add %a, %0 : tensor<4xf32>
  %3 = stablehlo.multiply %2, %1 : tensor<4xf32>
  return %3 : tensor<4xf32>
}"#;
    finds("share", SHARED, copies, Skips);
}

#[test]
fn halo() {
    finds("halo", SETTLED, ROLL, Skips);
}

#[test]
fn hoist() {
    let weight = r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x8xf32>, %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4x8xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = sdy.sharding_constraint %w <@mesh, [{}, {}]> : tensor<8x8xf32>
    %3 = stablehlo.dot_general %x, %2, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    stablehlo.return %1, %3 : tensor<i32>, tensor<4x8xf32>
  }
  return %0#1 : tensor<4x8xf32>
}"#;
    finds("hoist", HOISTED, weight, Skips);
}

#[test]
fn pad() {
    finds("pad", EVEN, PRODUCT, Skips);
    let forgets = |main: &mut Func| main.body.value_mut(main.body.args()[0]).padding = None;
    finds("pad", PADDING_RECORDED, PRODUCT, Spoils(forgets));
    let sum = r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<5x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"#;
    finds("pad", NEUTRAL_PADDING, sum, Spoils(unmask));
    finds("pad", NEUTRAL_PADDING, sum, Spoils(mask_with_ones));
}

#[test]
fn axes() {
    finds("axes", NAMED_AXES, MANUAL, Skips);
}

#[test]
fn localize() {
    for guarantee in [NO_SHARDY, LOCAL_VALUES, LOCAL_TYPES] {
        finds("localize", guarantee, PRODUCT, Skips);
    }
}

#[test]
fn cleanup() {
    finds("cleanup", NO_DEAD_OPS, PRODUCT, Spoils(add_dead_op));
}

#[test]
fn uniform() {
    finds("uniform", VARYING, PRODUCT, Skips);
    let forgets = |main: &mut Func| main.body.value_mut(Value::new(0)).varying = Some(Varying::Nowhere);
    finds("uniform", VARYING, PRODUCT, Spoils(forgets));
}

fn without_attr(func: &mut Func, name: &str) {
    let ops = func.body.walk();
    let is_removed = ops.into_iter().any(|op| func.body.op_mut(op).attrs.remove(name).is_some());
    assert!(is_removed, "no op has `{name}`");
}

/// Splits the result of the first op of this kind over "x" along its first dimension, and not along others. Panics if
/// there is no such op, or if the result has no sharding or no dimension.
fn split(func: &mut Func, code: Opcode) {
    let op = func.body.walk().into_iter().find(|&op| func.body[op].code == code.into()).expect("there is one");
    let result = func.body[op].results[0];
    let sharding = func.body.sharding(result).expect("it has a sharding").clone();
    let mut dims = vec![vec![]; sharding.rank()];
    dims[0] = vec![AxisRef::full(AxisIndex::new(0))];
    func.body.value_mut(result).sharding = Some(Sharding::closed(&sharding.mesh, dims));
}

/// Lets the first cosine use the summands of the multiplication in place of their sum.
fn forget_sum(func: &mut Func) {
    let find = |code: Opcode| func.body.walk().into_iter().find(|&op| func.body[op].code == code.into());
    let [multiply, cosine] = [Opcode::Multiply, Opcode::Cosine].map(|code| find(code).expect("there is one"));
    func.body.op_mut(cosine).operands[0] = func.body[multiply].results[0];
}

/// Makes the third argument, with which a sum over "x" is multiplied, a sum over a part of "x".
fn multiply_by_sum(func: &mut Func) {
    let v = func.body.args()[2];
    let sharding = func.body.sharding(v).expect("it has a sharding").clone();
    let part = AxisRef::sub(&sharding.mesh, AxisIndex::new(0), 1, 2);
    func.body.value_mut(v).sharding = Some(sharding.with_unreduced(vec![part]));
}

/// Lets the first reduction use the first argument in place of the value whose padding is replaced. Panics if there is
/// no reduction or no argument.
fn unmask(func: &mut Func) {
    let op = func.body.walk().into_iter().find(|&op| func.body[op].code == Opcode::Reduce.into());
    let op = op.expect("there is a reduction");
    func.body.op_mut(op).operands[0] = func.body.args()[0];
}

fn mask_with_ones(func: &mut Func) {
    for v in (0..func.body.value_count()).map(Value::new) {
        let Some(mut padding) = func.body[v].padding.as_deref().cloned() else { continue };
        padding.iter_mut().filter(|p| p.holds.is_some()).for_each(|p| p.holds = Some(Literal::scalar(1f32)));
        func.body.value_mut(v).padding = Some(Arc::new(padding));
    }
}

fn add_dead_op(func: &mut Func) {
    let entry = func.body.entry();
    let zero = make::number(&mut Builder::new(&mut func.body), DType::F32, 0);
    let op = func.body.def_op(zero).expect("made just now");
    let ops = &mut func.body.region_mut(entry).ops;
    ops.pop();
    ops.insert(0, op);
}
