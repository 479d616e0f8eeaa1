//! The elements of padding are those that the program says.

use crate::random_programs::{per_device, same};
use shardwise_base::{Complex32, Literal};
use shardwise_interp::{run, run_by_shards};
use shardwise_ir::text::parse;
use shardwise_ops::{OPS, Opcode};
use shardwise_spmd::{Options, partition};

/// Runs, by shards, a program that sums an array of five numbers with three elements of padding, and returns the sum.
/// The padding is recorded to hold `held`, and in fact holds `written`. Fails if the two differ, or if the program
/// cannot be run.
fn sum(held: &str, written: &str) -> Result<Vec<Literal>, String> {
    let text = format!(
        r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>, shardwise.padding = [{{dim = 0 : i64, size = 5 : i64}}]}}) -> tensor<f32> {{
  %zero = stablehlo.constant {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>}} dense<0.0> : tensor<f32>
  %five = stablehlo.constant {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}]>]>}} dense<5> : tensor<8xi64>
  %fill = stablehlo.constant {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}]>]>}} dense<{written}> : tensor<8xf32>
  %i = stablehlo.iota dim = 0 {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}]>]>}} : tensor<8xi64>
  %0 = stablehlo.compare LT, %i, %five, SIGNED {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}]>]>}} : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
  %1 = stablehlo.select %0, %a, %fill {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"x"}}]>]>, shardwise.padding = [[{{dim = 0 : i64, holds = dense<{held}> : tensor<f32>, size = 5 : i64}}]]}} : tensor<8xi1>, tensor<8xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={{"x"}}>]>}} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %3 = sdy.all_reduce {{"x"}} %2 out_sharding=<@mesh, []> : tensor<f32>
  return %3 : tensor<f32>
}}"#
    );
    let module = parse("sum.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}"));
    run_by_shards(&module, &[Literal::new([5], &[1f32, 2.0, 3.0, 4.0, 5.0])]).map_err(|e| e.to_string())
}

#[test]
fn arguments_are_padded_and_neutral_elements_hide_it() {
    assert_eq!(sum("0.0", "0.0"), Ok(vec![Literal::scalar(15f32)]));
}

#[test]
fn a_wrong_record_is_found() {
    let found = sum("0.0", "1.0").expect_err("the padding holds ones");
    assert!(found.contains("the padding of result 0 of `stablehlo.select` along dimension 0"), "{found}");
}

/// Tests a reduction along an uneven dimension of an unreduced value. The mask of the padding is not unreduced.
#[test]
fn the_mask_of_summands_is_no_sum() {
    let text = r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<3x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %b: tensor<4x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : (tensor<3x4xi32>, tensor<4x2xi32>) -> tensor<3x2xi32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"x"}>]>} : (tensor<3x2xi32>, tensor<i32>) -> tensor<2xi32>
  return %1 : tensor<2xi32>
}"#;
    let module = parse("sum.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}"));
    let args = [Literal::from_fn([3, 4], |i| i as i32), Literal::from_fn([4, 2], |i| i as i32 - 3)];
    let partitioned = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let body = &partitioned.module.main().unwrap().body;
    let is_masked = body.walk().into_iter().any(|op| Opcode::of(body[op].code) == Opcode::Compare);
    assert!(is_masked, "the padding is masked");
    same(&per_device(&partitioned, &args), &run(&module, &args).unwrap_or_else(|e| panic!("{e}")), text);
}

/// Tests that an unreduced value is enlarged by zeros, of which each device has a summand, too.
#[test]
fn summands_of_complex_numbers_are_enlarged() {
    let text = r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<3x4xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %b: tensor<4x2xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<3x2xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<3x4xcomplex<f32>>, tensor<4x2xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>
  %2 = sdy.sharding_constraint %0 <@mesh, [{"y"}, {}], unreduced={"x"}> : tensor<3x2xcomplex<f32>>
  return %2 : tensor<3x2xcomplex<f32>>
}"#;
    let module = parse("sum.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}"));
    let args = [[3, 4], [4, 2]].map(|shape| Literal::from_fn(shape, |i| Complex32::new(i as f32, 1.0 - i as f32)));
    let partitioned = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    same(&per_device(&partitioned, &args), &run(&module, &args).unwrap_or_else(|e| panic!("{e}")), text);
}

/// Tests that windows which devices fetch of unreduced values are unreduced, too, and that their masks are not.
#[test]
fn windows_of_summands_are_summands() {
    let complex = |shape: [usize; 2]| Literal::from_fn(shape, |i| Complex32::new(i as f32, 1.0 - i as f32));
    let integers = |shape: [usize; 2]| Literal::from_fn(shape, |i| i as i32 - 3);
    for (ty, zero, array) in
        [("i32", "0", &integers as &dyn Fn([usize; 2]) -> Literal), ("complex<f32>", "(0.0, 0.0)", &complex)]
    {
        let text = format!(
            r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4x{ty}> {{sdy.sharding = #sdy.sharding<@mesh, [{{"y"}}, {{"x"}}]>}}, %b: tensor<4x2x{ty}> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> (tensor<8x2x{ty}> {{sdy.sharding = #sdy.sharding<@mesh, [{{"y"}}, {{}}]>}}) {{
  %zero = stablehlo.constant dense<{zero}> : tensor<{ty}>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"y"}}, {{}}], unreduced={{"x"}}>]>}} : (tensor<8x4x{ty}>, tensor<4x2x{ty}>) -> tensor<8x2x{ty}>
  %1 = stablehlo.pad %0, %zero, low = [1, 0], high = [-1, 0], interior = [0, 0] {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{"y"}}, {{}}], unreduced={{"x"}}>]>}} : (tensor<8x2x{ty}>, tensor<{ty}>) -> tensor<8x2x{ty}>
  return %1 : tensor<8x2x{ty}>
}}"#
        );
        let module = parse("shift.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}"));
        let args = [array([8, 4]), array([4, 2])];
        let partitioned = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
        let body = &partitioned.module.main().unwrap().body;
        let has = |code| body.walk().into_iter().any(|op| Opcode::of(body[op].code) == code);
        assert!(
            has(Opcode::CollectivePermute) && has(Opcode::Compare),
            "devices send their last row, of which one has none"
        );
        same(&per_device(&partitioned, &args), &run(&module, &args).unwrap_or_else(|e| panic!("{e}")), &text);
    }
}
