//! Each pass on programs as they are written: exact output.

use expect_test::{Expect, expect};
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ir::verify;
use shardwise_ops::OPS;
use shardwise_spmd::{Options, partition, run_passes};

/// Runs the passes, and compares the text of what they make, which must read back as the same.
fn check(passes: &[&str], text: &str, expected: Expect) {
    let module = parse("test.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}"));
    let found = verify(&module);
    assert!(!found.has_errors(), "{found}");
    let out = run_passes(passes, &module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let printed = print(&out, &PrintOptions { facts: false, ..PrintOptions::default() });
    expected.assert_eq(&printed);
    let again = parse("again.mlir", &print(&out, &PrintOptions::EXACT), &OPS).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(print(&again, &PrintOptions::EXACT), print(&out, &PrintOptions::EXACT), "it reads back");
}

const TO_LOCAL: &[&str] = &["lower", "propagate", "reshard", "collectives", "pad", "axes", "localize", "cleanup"];

#[test]
fn lower_inlines_calls_of_calls() {
    check(
        &["lower"],
        r#"
func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.composite "my.square" %0 {decomposition = @g} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @g(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @g(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %arg0, %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}"#,
        expect![[r#"
            module {
              func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
                %0 = stablehlo.multiply %arg0, %arg0 : tensor<4xf32>
                %1 = stablehlo.negate %0 : tensor<4xf32>
                %2 = stablehlo.multiply %1, %1 : tensor<4xf32>
                return %2 : tensor<4xf32>
              }
            }
        "#]],
    );
}

#[test]
fn reshard_makes_operands_agree_and_sums_partial_results() {
    check(
        &["reshard"],
        r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}"#,
        expect![[r#"
            module {
              sdy.mesh @mesh = <["x"=2, "y"=2]>
              func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
                %0 = sdy.reshard %arg0 <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
                %1 = sdy.reshard %arg1 <@mesh, [{}, {}]> : tensor<4x6xf32>
                %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
                return %2 : tensor<8x6xf32>
              }
            }
        "#]],
    );
}

#[test]
fn collectives_turn_a_sum_that_is_split_into_a_reduce_scatter() {
    check(
        &["collectives"],
        r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x", "y"}>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = sdy.all_reduce {"x", "y"} %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  %1 = sdy.reshard %0 <@mesh, [{}, {"x"}]> : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}"#,
        expect![[r#"
            module {
              sdy.mesh @mesh = <["x"=2, "y"=2]>
              func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x", "y"}>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
                %0 = sdy.reduce_scatter [{}, {"x"}] %arg0 out_sharding=<@mesh, [{}, {"x"}], unreduced={"y"}> : tensor<8x4xf32>
                %1 = sdy.all_reduce {"y"} %0 out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x4xf32>
                return %1 : tensor<8x4xf32>
              }
            }
        "#]],
    );
}

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
        "run the passes before it first: import, meshes, simplify, dequantize, propagate, lower, reshard"
    );
}

#[test]
fn products_and_logical_sums_of_shards_are_written_and_read() {
    let reduced = |function: &str, ty: &str, to: &str| {
        let text = format!(
            r#"
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<4x{ty}> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}, %arg1: tensor<{ty}>) -> tensor<{ty}> {{
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.{function} across dimensions = [0] : (tensor<4x{ty}>, tensor<{ty}>) -> tensor<{ty}>
  return %0 : tensor<{ty}>
}}"#
        );
        let module = parse("test.mlir", &text, &OPS).unwrap();
        let out = run_passes(&["reshard"], &module, &mut Options::default()).unwrap();
        let printed = print(&out, &PrintOptions::EXACT);
        assert!(printed.contains(&format!("sdy.all_reduce {to}")), "{printed}");
        assert_eq!(print(&parse("again.mlir", &printed, &OPS).unwrap(), &PrintOptions::EXACT), printed);
    };
    reduced("add", "f32", "{");
    reduced("multiply", "f32", "prod");
    reduced("maximum", "f32", "max");
    reduced("minimum", "f32", "min");
    reduced("and", "i1", "and");
    reduced("or", "i1", "or");
}

#[test]
fn pad_masks_what_a_reduction_would_see() {
    check(
        &["pad"],
        r#"
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.maximum across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x"}>]>} : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  %1 = sdy.all_reduce max {"x"} %0 out_sharding=<@mesh, []> : tensor<f32>
  return %1 : tensor<f32>
}"#,
        expect![[r#"
            module {
              sdy.mesh @mesh = <["x"=4]>
              func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<5xf32>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
                %0 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xi64>
                %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<5> : tensor<8xi64>
                %2 = stablehlo.compare LT, %0, %1, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
                %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} dense<0xFF800000> : tensor<8xf32>
                %4 = stablehlo.select %2, %arg0, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xi1>, tensor<8xf32>
                %5 = stablehlo.reduce(%4 init: %arg1) applies stablehlo.maximum across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x"}>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
                %6 = sdy.all_reduce max {"x"} %5 out_sharding=<@mesh, []> : tensor<f32>
                return %6 : tensor<f32>
              }
            }
        "#]],
    );
}

#[test]
fn axes_are_named_where_the_program_names_devices() {
    check(
        TO_LOCAL,
        r#"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x4xi32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg1: tensor<4x2xi32>) {
    %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
      %8 = stablehlo.add %arg2, %arg3 : tensor<i32>
      stablehlo.return %8 : tensor<i32>
    }) : (tensor<4x2xi32>) -> tensor<4x2xi32>
    %2 = stablehlo.partition_id : tensor<ui32>
    %c = stablehlo.constant dense<2> : tensor<ui32>
    %3 = stablehlo.divide %2, %c : tensor<ui32>
    %4 = stablehlo.remainder %3, %c : tensor<ui32>
    %5 = stablehlo.convert %4 : (tensor<ui32>) -> tensor<i32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
    %7 = stablehlo.add %1, %6 : tensor<4x2xi32>
    sdy.return %7 : tensor<4x2xi32>
  } : (tensor<8x4xi32>) -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}
}"#,
        expect![[r#"
            module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
              sdy.mesh @mesh = <["x"=2, "y"=2]>
              func.func public @main(%arg0: tensor<4x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>, shardwise.global_type = tensor<8x4xi32>}) -> (tensor<4x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>, shardwise.global_type = tensor<8x4xi32>}) {
                %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
                ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
                  %4 = stablehlo.add %arg1, %arg2 : tensor<i32>
                  stablehlo.return %4 : tensor<i32>
                }) : (tensor<4x2xi32>) -> tensor<4x2xi32>
                %1 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
                %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
                %3 = stablehlo.add %0, %2 : tensor<4x2xi32>
                return %3 : tensor<4x2xi32>
              }
            }
        "#]],
    );
}

#[test]
fn cleanup_merges_equal_ops_and_drops_dead_ones() {
    check(
        &["cleanup"],
        r#"
func.func @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
  %0 = stablehlo.negate %arg0 : tensor<4xf32>
  %1 = stablehlo.negate %arg0 : tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  %3 = stablehlo.multiply %0, %1 : tensor<4xf32>
  %4 = stablehlo.reshape %2 : (tensor<4xf32>) -> tensor<4xf32>
  %c = stablehlo.constant dense<3> : tensor<i32>
  %5 = stablehlo.multiply %c, %c : tensor<i32>
  return %4, %5 : tensor<4xf32>, tensor<i32>
}"#,
        expect![[r#"
            module {
              func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
                %0 = stablehlo.negate %arg0 : tensor<4xf32>
                %1 = stablehlo.add %0, %0 : tensor<4xf32>
                %2 = stablehlo.constant dense<9> : tensor<i32>
                return %1, %2 : tensor<4xf32>, tensor<i32>
              }
            }
        "#]],
    );
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
