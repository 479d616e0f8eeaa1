//! Lists of passes, and programs that they refuse.

use shardwise_ir::text::parse;
use shardwise_ops::OPS;
use shardwise_spmd::{Options, partition, run_passes};

#[test]
fn lower_keeps_the_functions_that_ops_name() {
    let text = r#"
func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
  %0:2 = "interpreter.run_parallel"(%arg0, %arg1) <{programs = [[@f, @f]]}> : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %0#1 : tensor<2xf32>
}
func.func private @f(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  return %arg0 : tensor<2xf32>
}
func.func private @unused(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  return %arg0 : tensor<2xf32>
}"#;
    let module = parse("test.mlir", text, &OPS).unwrap();
    let out = run_passes(&["lower"], &module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<&str> = out.funcs.iter().map(|f| &*f.name).collect();
    assert_eq!(names, ["main", "f"]);
}

#[test]
fn a_pass_on_a_program_that_it_is_not_made_for_is_a_mistake() {
    let text = r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.all_reduce {"x", "y"} %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  %1 = sdy.reshard %0 <@mesh, [{}, {"x"}]> : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}"#;
    let module = parse("test.mlir", text, &OPS).unwrap();
    let found = run_passes(&["collectives"], &module, &mut Options::default()).map(|_| ()).unwrap_err();
    assert_eq!(found.0[0].code, "pass-order");
    assert_eq!(
        found.0[0].notes[0].text.to_string(),
        "run the passes before it first: import, meshes, simplify, dequantize, propagate, lower, share, join, reshard, defer"
    );
}

#[test]
fn a_pass_that_needs_layouts_refuses_a_program_without_them() {
    let reshard = r#"
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.reshard %arg0 <@mesh, [{"x"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}"#;
    let uneven = r#"
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.reduce"(%arg0, %arg1) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.subtract %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}"#;
    let cases = [
        ("collectives", reshard, "`sdy.reshard` moves a value that has no sharding yet"),
        ("pad", uneven, "`stablehlo.reduce` reduces a dimension that is split unevenly, and has no neutral element"),
    ];
    for (pass, text, message) in cases {
        let module = parse("test.mlir", text, &OPS).unwrap();
        let found = run_passes(&[pass], &module, &mut Options::default()).map(|_| ()).unwrap_err();
        assert_eq!((found.0[0].code, found.0[0].message.as_str()), ("pass-order", message));
        assert_eq!(found.0[0].notes[0].text.to_string(), "run the pass `reshard` first");
    }
}

#[test]
fn callbacks_that_return_nothing_are_skipped_with_a_warning() {
    let text = "func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<i32>) -> tensor<3xf32> {
  stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg0, %arg1) {has_side_effect = true, mhlo.backend_config = {index = 0 : ui64}} : (tensor<3xf32>, tensor<i32>) -> ()
  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg0) {mhlo.backend_config = {index = 1 : ui64}} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}";
    let module = parse("test.mlir", text, &OPS).unwrap();
    let out = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let warnings = out.warnings.to_string();
    assert!(out.warnings.0.len() == 1 && warnings.contains("callback-skipped"), "{warnings}");
    assert!(warnings.contains("it would take tensor<3xf32>, tensor<i32>"), "{warnings}");
}

/// Tests the text that JAX exports for a function of `jax.custom_partitioning`: partitioning it warns at its line, and
/// running it fails there.
#[test]
fn functions_with_a_partitioning_of_their_own_are_not_in_the_program() {
    let text = r#"func.func @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.custom_call @CustomSPMDPartitioning(%arg0) {api_version = 2 : i32, backend_config = "140655444894864", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#;
    let module = parse("test.mlir", text, &OPS).unwrap();
    let out = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let [warning] = &out.warnings.0[..] else { panic!("{}", out.warnings) };
    let warning = warning.to_string();
    assert!(
        warning.starts_with("warning[custom-partitioning]: the program fails where a run reaches this: "),
        "{warning}"
    );
    let input = shardwise_base::Literal::zeros(shardwise_base::DType::F32, vec![8, 4]);
    let error = shardwise_interp::run(&module, &[input]).map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("error[custom-call-target]: `CustomSPMDPartitioning` calls a function of"), "{error}");
    for text in [warning, error] {
        assert!(text.contains("test.mlir:2:") && text.contains("`f.fun(x)` in place of `f(x)`"), "{text}");
    }
}

#[test]
fn programs_take_and_give_arrays() {
    let text = "func.func @main(%arg0: tensor<2xf32>, %arg1: !stablehlo.token) -> (tensor<2xf32>, !stablehlo.token) {
  return %arg0, %arg1 : tensor<2xf32>, !stablehlo.token
}";
    let module = parse("test.mlir", text, &OPS).unwrap();
    let found = partition(&module, &mut Options::default()).map(|_| ()).unwrap_err();
    let messages: Vec<&str> = found.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages, ["argument 1 of the program is not an array", "result 1 of the program is not an array"]);
}
