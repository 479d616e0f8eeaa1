//! Functions whose values are computed again in reverse mode.

mod common;

use common::{check, check_batch, parse, printed, with_main};
use shardwise_transform::vjp;

fn layers(policy: &str) -> String {
    format!(
        r#"func.func @main(%arg0: tensor<2x4xf64>, %arg1: tensor<3x4x4xf64>) -> tensor<2x4xf64> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %end = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %h = %arg0) : tensor<i32>, tensor<2x4xf64>
  cond {{
    %p = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %l = stablehlo.dynamic_slice %arg1, %i, %zero, %zero, sizes = [1, 4, 4] : (tensor<3x4x4xf64>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x4xf64>
    %w = stablehlo.reshape %l : (tensor<1x4x4xf64>) -> tensor<4x4xf64>
    %t = stablehlo.composite "shardwise.checkpoint" %h, %w {{decomposition = @layer, composite_attributes = {{policy = {policy}}}}} : (tensor<2x4xf64>, tensor<4x4xf64>) -> tensor<2x4xf64>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %t : tensor<i32>, tensor<2x4xf64>
  }}
  return %r#1 : tensor<2x4xf64>
}}
func.func private @layer(%arg0: tensor<2x4xf64>, %arg1: tensor<4x4xf64>) -> tensor<2x4xf64> {{
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<2x4xf64>, tensor<4x4xf64>) -> tensor<2x4xf64>
  %1 = stablehlo.sine %0 : tensor<2x4xf64>
  %2 = stablehlo.optimization_barrier {{shardwise.value_name = "angle"}} %1 : tensor<2x4xf64>
  %3 = stablehlo.tanh %2 : tensor<2x4xf64>
  %4 = stablehlo.multiply %3, %arg0 : tensor<2x4xf64>
  return %4 : tensor<2x4xf64>
}}"#
    )
}

/// Returns how many products, sines and updates of blocks the gradient has. Each stack of values of the turns has one
/// update.
fn counts(policy: &str) -> [usize; 3] {
    let module = parse(&layers(policy));
    let back = printed(&with_main(&module, vjp(&module, module.main().unwrap(), &[0, 1]).unwrap()));
    let stacks = back.matches("stablehlo.dynamic_update_slice").count();
    [back.matches("stablehlo.dot_general").count(), back.matches("stablehlo.sine").count(), stacks]
}

#[test]
fn gradients_are_those_without() {
    for policy in [
        r#"{keeps = "nothing"}"#,
        r#"{keeps = "everything"}"#,
        r#"{keeps = "dots"}"#,
        r#"{keeps = "names", names = ["angle"]}"#,
        r#"{keeps = "either", of = [{keeps = "dots"}, {keeps = "other_names", names = ["angle"]}]}"#,
    ] {
        check(&layers(policy));
        check_batch(&layers(policy), 0.0);
    }
}

#[test]
fn loops_without_turns_have_gradients() {
    for policy in [r#"{keeps = "nothing"}"#, r#"{keeps = "dots"}"#] {
        let source = layers(policy);
        let without = source.replace("%end = stablehlo.constant dense<3>", "%end = stablehlo.constant dense<0>");
        assert_ne!(without, source);
        check(&without);
    }
}

#[test]
fn a_policy_says_what_is_computed_again() {
    // The transposed loop adds a block to the gradient of the weights in each case.
    let everything = counts(r#"{keeps = "everything"}"#);
    let nothing = counts(r#"{keeps = "nothing"}"#);
    let dots = counts(r#"{keeps = "dots"}"#);
    let names = counts(r#"{keeps = "names", names = ["angle"]}"#);
    let [of_nothing, of_dots, of_names] = [nothing, dots, names].map(|c| [c[0] - everything[0], c[1] - everything[1]]);
    assert_eq!(
        (of_nothing, of_dots, of_names),
        ([1, 1], [0, 1], [1, 0]),
        "{everything:?} {nothing:?} {dots:?} {names:?}"
    );
    // The argument of the layer and the position of its weights are kept in any case.
    assert_eq!([nothing[2] + 1, nothing[2] + 1], [dots[2], names[2]], "{everything:?} {nothing:?} {dots:?} {names:?}");
    assert!(everything[2] > dots[2], "{everything:?} {dots:?}");
}
