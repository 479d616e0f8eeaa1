//! Quantized values and `rng`: partitioned, they give bit for bit what they give whole.

use crate::corpus::per_device;
use shardwise_base::Literal;
use shardwise_interp::run;
use shardwise_ir::text::parse;
use shardwise_ops::OPS;

fn check(text: &str, args: &[Literal]) {
    let module = parse("t.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}"));
    let found = shardwise_ir::verify(&module);
    assert!(found.is_empty(), "{found}");
    let whole = run(&module, args).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(per_device(&module, args).unwrap_or_else(|e| panic!("{e}")), whole);
}

#[test]
fn quantized_values_are_split_like_others() {
    check(
        r#"!x = !quant.uniform<i8:f32, 0.5:-20>
!w = !quant.uniform<i8:f32:1, {0.5, 0.25, 0.125, 1.0, 2.0, 0.5}>
!y = !quant.uniform<i32:f32:1, {0.5, 0.5, 0.5, 0.5, 0.25, 0.25}>
sdy.mesh @mesh = <["a"=2, "b"=3]>
func.func @main(%x: tensor<4x6x!x> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>},
                %w: tensor<6x6x!w> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}]>})
    -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}, tensor<6x!x>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x6x!x>, tensor<6x6x!w>) -> tensor<4x6x!y>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<4x6x!y>) -> tensor<4x6xf32>
  %2 = stablehlo.constant() <{value = dense<-20> : tensor<i8>}> : () -> tensor<!x>
  %3 = stablehlo.reduce(%x init: %2) applies stablehlo.add across dimensions = [0] : (tensor<4x6x!x>, tensor<!x>) -> tensor<6x!x>
  return %1, %3 : tensor<4x6xf32>, tensor<6x!x>
}
"#,
        &[
            Literal::new([4, 6], &(0..24i8).map(|i| 5 * i - 60).collect::<Vec<_>>()),
            Literal::new([6, 6], &(0..36i8).map(|i| i - 18).collect::<Vec<_>>()),
        ],
    );
}

#[test]
fn rng_draws_the_same_on_any_mesh() {
    check(
        r#"sdy.mesh @mesh = <["a"=2, "b"=3]>
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}, tensor<7xf32>) {
  %c = stablehlo.constant dense<[4, 6]> : tensor<2xi64>
  %0 = stablehlo.rng %a, %b, %c, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x6xf32>
  %1:2 = func.call @f(%a, %b) : (tensor<f32>, tensor<f32>) -> (tensor<4x6xf32>, tensor<7xf32>)
  %2 = stablehlo.subtract %0, %1#0 : tensor<4x6xf32>
  return %2, %1#1 : tensor<4x6xf32>, tensor<7xf32>
}
func.func private @f(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<4x6xf32>, tensor<7xf32>) {
  %c = stablehlo.constant dense<[4, 6]> : tensor<2xi64>
  %d = stablehlo.constant dense<7> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %c, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x6xf32>
  %1 = stablehlo.rng %a, %b, %d, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<7xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"a"}]> : tensor<7xf32>
  return %0, %2 : tensor<4x6xf32>, tensor<7xf32>
}
"#,
        &[Literal::scalar(-1f32), Literal::scalar(3f32)],
    );
}
