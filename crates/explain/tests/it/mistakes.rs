//! Programs that cannot be explained.

use crate::{explained, parsed};
use shardwise_base::Diagnostics;
use shardwise_explain::{Options, compare, explain};
use shardwise_ir::Module;
use shardwise_ir::text::{PrintOptions, print};
use shardwise_sim::Topology;

const SUM: &str = r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1]
      : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"#;

#[track_caller]
fn assert_fails(module: &Module, options: &Options, code: &str) {
    let check = |found: Diagnostics| assert_eq!(found.0[0].code, code, "{found}");
    check(explain(module, options).map(|_| ()).expect_err("it is wrong"));
    check(compare(&parsed("a.mlir", SUM), module, options).map(|_| ()).expect_err("it is wrong"));
}

#[test]
fn a_partitioned_program_is_refused() {
    let local = shardwise_spmd::partition(&parsed("a.mlir", SUM), &mut Default::default()).unwrap().module;
    assert_fails(&parsed("b.mlir", &print(&local, &PrintOptions::default())), &Options::default(), "partitioned-twice");
}

#[test]
fn a_mesh_must_fit_the_topology() {
    let options = Options { topology: Some(Topology::parse("v5e:2x4").unwrap()), ..Options::default() };
    assert_fails(&parsed("a.mlir", SUM), &options, "topology-mesh");
}

#[test]
fn a_program_needs_a_function() {
    assert_fails(&parsed("a.mlir", "module {}"), &Options::default(), "module-main");
}

#[test]
fn a_program_without_a_mesh_does_not_communicate() {
    let e = explained("func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\nreturn %x : tensor<8xf32>\n}");
    assert!(e.groups.is_empty() && e.remedies.is_empty());
    assert!(e.to_string().starts_with("no communication"));
}

#[test]
fn a_search_without_trials_says_so() {
    let e = explain(&parsed("a.mlir", SUM), &Options { trials: Some(0), ..Options::default() }).unwrap();
    assert!(e.remedies.is_empty() && e.tried == 0 && !e.is_complete);
    assert!(e.to_string().contains("no change was tried"), "{e}");
}
