//! Programs whose text says how values are laid out in every way that Shardy has: they compute what they mean on whole
//! values.

use crate::random_programs::{per_device, same};
use shardwise_base::{DType, Literal};
use shardwise_check::generate::Case;
use shardwise_check::run::check as check_exactly;
use shardwise_interp::{run, run_by_shards};
use shardwise_ir::text::parse;
use shardwise_ir::{Module, verify};
use shardwise_ops::OPS;
use shardwise_spmd::{Options, partition, run_until, unsharded};

fn module(text: &str) -> Module {
    let module = parse("test.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found = verify(&module);
    assert!(!found.has_errors(), "{found}\n{text}");
    module
}

/// Returns arguments for a program: arrays of small numbers, which differ from one position to the next. Panics if an
/// argument is neither `f32` nor `i32`.
fn arguments(module: &Module) -> Vec<Literal> {
    let body = &module.main().unwrap().body;
    let of = |(i, &v): (usize, &shardwise_ir::Value)| {
        let ty = body.ty(v).as_tensor().unwrap();
        let count = ty.shape.iter().product::<usize>();
        let value = |n: usize| ((n * 7 + i * 3) % 31) as i32 - 9;
        match ty.dtype {
            DType::F32 => Literal::new(&*ty.shape, &(0..count).map(|n| value(n) as f32).collect::<Vec<_>>()),
            DType::I32 => Literal::new(&*ty.shape, &(0..count).map(value).collect::<Vec<_>>()),
            other => panic!("no arguments of {other}"),
        }
    };
    body.args().iter().enumerate().map(of).collect()
}

/// Checks that the program computes the same on whole values, by shards after several stages, and on each device. Also
/// checks it on one device, unless it has a manual computation. Panics if results differ, or if the program is not
/// valid or cannot be partitioned or run.
fn check(text: &str) {
    let module = module(text);
    let args = arguments(&module);
    let whole = run(&module, &args).unwrap_or_else(|e| panic!("{e}\n{text}"));
    for stage in ["reshard", "defer", "collectives", "hoist"] {
        let staged = run_until(stage, &module, &mut Options::default()).unwrap_or_else(|e| panic!("{stage}: {e}"));
        let found = run_by_shards(&staged, &args).unwrap_or_else(|e| panic!("{stage}: {e}\n{text}"));
        same(&found, &whole, &format!("after {stage}:\n{text}"));
    }
    let on_devices = |module: &Module| {
        let partitioned = partition(module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        per_device(&partitioned, &args)
    };
    same(&on_devices(&module), &whole, &format!("on its devices:\n{text}"));
    if !text.contains("manual_computation") {
        same(&on_devices(&unsharded(&module)), &whole, &format!("on one device:\n{text}"));
    }
}

fn check_step(operand: &str, step: &str) {
    for shape in ["8x4", "4x4", "31x31", "5x3", "1x7", "0x4"] {
        check(&format!(
            r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<{shape}xf32> {{sdy.sharding = #sdy.sharding<@mesh, {operand}>}}) -> tensor<{shape}xf32> {{
  %0 = sdy.{step} : tensor<{shape}xf32>
  %1 = stablehlo.add %0, %arg0 : tensor<{shape}xf32>
  return %1 : tensor<{shape}xf32>
}}"#
        ));
    }
}

#[test]
fn collectives_of_the_text_are_what_they_are_on_whole_values() {
    for (operand, step) in [
        (r#"[{"x", "y"}, {}]"#, r#"all_gather [{"y"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]>"#),
        (r#"[{"x"}, {}]"#, r#"all_slice [{}, {"y"}] %arg0 out_sharding=<@mesh, [{"x"}, {"y"}]>"#),
        (r#"[{"x", "y"}, {}]"#, r#"all_to_all [{"y"}: 0->1] %arg0 out_sharding=<@mesh, [{"x"}, {"y"}]>"#),
        (r#"[{"x", "y"}, {}]"#, r#"collective_permute %arg0 out_sharding=<@mesh, [{"y", "x"}, {}]>"#),
        (r#"[{"x"}, {}], unreduced={"y"}"#, r#"all_reduce {"y"} %arg0 out_sharding=<@mesh, [{"x"}, {}]>"#),
        (r#"[{"x"}, {}], unreduced={"y"}"#, r#"reduce_scatter [{}, {"y"}] %arg0 out_sharding=<@mesh, [{"x"}, {"y"}]>"#),
        (r#"[{"x"}, {}]"#, r#"replicated_to_unreduced {"y"} %arg0 out_sharding=<@mesh, [{"x"}, {}], unreduced={"y"}>"#),
        (
            r#"[{"x", "y"}, {}]"#,
            r#"sharded_to_unreduced [{"y"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}], unreduced={"y"}>"#,
        ),
        (r#"[{"x"}, {}]"#, r#"reshard %arg0 <@mesh, [{}, {"x"}]>"#),
    ] {
        check_step(operand, step);
    }
}

#[test]
fn each_value_that_a_mark_passes_on_has_its_own_layout() {
    let text = r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<4xf32>, tensor<8x2xf32>) {
  %0:2 = stablehlo.custom_call @LayoutConstraint(%a, %b) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{"y"}, {"x"}]>]>} : (tensor<4xf32>, tensor<8x2xf32>) -> (tensor<4xf32>, tensor<8x2xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<8x2xf32>
}"#;
    let module = module(text);
    let args = arguments(&module);
    same(&run_by_shards(&module, &args).unwrap(), &args, text);
}

#[test]
fn zeros_of_both_signs_become_summands() {
    for (operand, steps) in [
        (
            r#"[{}]"#,
            r#"%0 = sdy.replicated_to_unreduced {"x"} %arg0 out_sharding=<@mesh, [{}], unreduced={"x"}> : T
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}]> : T"#,
        ),
        (
            r#"[{"x"}]"#,
            r#"%0 = sdy.sharded_to_unreduced [{"x"}] %arg0 out_sharding=<@mesh, [{}], unreduced={"x"}> : T
  %1 = sdy.reduce_scatter [{"x"}] %0 out_sharding=<@mesh, [{"x"}]> : T"#,
        ),
        (r#"[{}], unreduced={"x"}"#, r#"%1 = sdy.all_reduce {"x"} %arg0 out_sharding=<@mesh, [{}]> : T"#),
        (
            r#"[{}]"#,
            r#"%1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}], unreduced={"x"}>] out_shardings=[<@mesh, [{}], unreduced={"x"}>] manual_axes={"x", "y"} (%a: T) {
    sdy.return %a : T
  } : (T) -> T"#,
        ),
    ] {
        let text = format!(
            r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: T {{sdy.sharding = #sdy.sharding<@mesh, {operand}>}}) -> T {{
  {steps}
  return %1 : T
}}"#
        );
        let text = text.replace('T', "tensor<6xf32>");
        let inputs = vec![Literal::new([6], &[-0.0f32, 0.0, 1.0, -0.0, 0.0, -1.0])];
        assert_eq!(run(&module(&text), &inputs).unwrap(), inputs);
        let case = Case { seed: 0, module: module(&text), inputs };
        check_exactly(&case).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
}

#[test]
fn unreduced_arguments_count_once_and_unreduced_results_are_sums() {
    for (argument, result) in [
        (r#"[{}, {}], unreduced={"x"}"#, r#"[{}, {}]"#),
        (r#"[{}, {"x"}], unreduced={"y"}"#, r#"[{}, {"x"}], unreduced={"y"}"#),
        (r#"[{"y"}, {}]"#, r#"[{}, {}], unreduced={"x", "y"}"#),
        (r#"[{}, {}], unreduced={"y", "x"}"#, r#"[{"x"}, {"y"}]"#),
    ] {
        for (ty, op) in [("7x6xf32", "add"), ("4x4xi32", "multiply"), ("7x6xf32", "maximum")] {
            check(&format!(
                r#"
sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main(%arg0: tensor<{ty}> {{sdy.sharding = #sdy.sharding<@mesh, {argument}>}}, %arg1: tensor<{ty}>) -> (tensor<{ty}> {{sdy.sharding = #sdy.sharding<@mesh, {result}>}}, tensor<{ty}>) {{
  %0 = stablehlo.{op} %arg0, %arg1 : tensor<{ty}>
  return %0, %arg0 : tensor<{ty}>, tensor<{ty}>
}}"#
            ));
        }
    }
}

#[test]
fn collectives_over_parts_of_axes_in_loops_and_without_users() {
    check(
        r#"
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<9x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<9x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"y", "x":(2)2}]>}) {
  %dead = sdy.all_gather [{"x"}, {"y"}] %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<9x8xf32>
  %0 = sdy.all_to_all [{"x":(2)2}: 0->1] %arg0 out_sharding=<@mesh, [{"x":(1)2}, {"y", "x":(2)2}]> : tensor<9x8xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.while(%iterArg = %0, %i = %c) : tensor<9x8xf32>, tensor<i32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %5 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %5 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %5 = sdy.collective_permute %iterArg out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<9x8xf32>
    %6 = stablehlo.add %5, %5 : tensor<9x8xf32>
    %7 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %6, %7 : tensor<9x8xf32>, tensor<i32>
  }
  return %1#0 : tensor<9x8xf32>
}"#,
    );
}

#[test]
fn collectives_after_partial_products_count_them_once() {
    check(
        r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<5x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, tensor<6x4xf32>) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32>
  %1 = sdy.reduce_scatter [{}, {"y"}] %0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<6x4xf32>
  %2 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}], unreduced={"y"}>]>} : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32>
  %3 = sdy.all_reduce {"y"} %2 out_sharding=<@mesh, [{"x"}, {}]> : tensor<6x4xf32>
  return %1, %3 : tensor<6x4xf32>, tensor<6x4xf32>
}"#,
    );
}

#[test]
fn collectives_over_free_axes_of_manual_computations() {
    check(
        r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x4xf32>) {
    %1 = stablehlo.add %arg1, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<4x4xf32>
    %2 = sdy.all_to_all [{"y"}: 1->0] %1 out_sharding=<@mesh, [{"y"}, {}]> : tensor<4x4xf32>
    %3 = sdy.all_gather [{"y"}, {}] %2 out_sharding=<@mesh, [{}, {}]> : tensor<4x4xf32>
    sdy.return %3 : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#,
    );
}

#[test]
fn named_computations_run_on_one_device() {
    check(
        r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = sdy.named_computation<"f">(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"y"}, {}]>] (%arg1: tensor<8x4xf32>) {
    %1 = sdy.propagation_barrier %arg1 allowed_direction=BACKWARD : tensor<8x4xf32>
    sdy.sharding_group %1 group_id=0 : tensor<8x4xf32>
    sdy.return %1 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#,
    );
}

/// Returns a program over the main mesh `@a` of `x=2, y=4` and another mesh, with an argument and a result over the
/// other.
fn over_two_meshes(other: &str, argument: &str, result: &str) -> String {
    format!(
        r#"
sdy.mesh @a = <["x"=2, "y"=4]>
sdy.mesh @b = <{other}>
func.func @main(%arg0: tensor<9x8xf32> {{sdy.sharding = #sdy.sharding<@a, [{{"x"}}, {{"y"}}]>}}, %arg1: tensor<9x8xf32> {{sdy.sharding = #sdy.sharding<@b, {argument}>}}) -> (tensor<9x8xf32> {{sdy.sharding = #sdy.sharding<@b, {result}>}}) {{
  %0 = stablehlo.add %arg0, %arg1 : tensor<9x8xf32>
  %1 = sdy.sharding_constraint %0 <@b, {argument}> : tensor<9x8xf32>
  return %1 : tensor<9x8xf32>
}}"#
    )
}

#[test]
fn meshes_of_the_same_devices_are_one() {
    for (other, argument, result) in [
        (r#"["p"=8]"#, r#"[{"p"}, {}]"#, r#"[{}, {"p"}]"#),
        (r#"["p"=4, "q"=2]"#, r#"[{"p"}, {"q"}]"#, r#"[{"q"}, {"p"}]"#),
        (r#"["p"=4, "q"=2], device_ids=[0, 4, 1, 5, 2, 6, 3, 7]"#, r#"[{"p"}, {"q"}]"#, r#"[{}, {}], unreduced={"q"}"#),
        // No axes of the main mesh have the devices in this order.
        (r#"["p"=4, "q"=2], device_ids=[7, 4, 1, 5, 2, 6, 3, 0]"#, r#"[{"p"}, {"q"}]"#, r#"[{"q"}, {}]"#),
        (r#"["p"=1]"#, r#"[{"p"}, {}]"#, r#"[{}, {"p"}]"#),
        (r#"[]"#, r#"[{}, {}]"#, r#"[{}, {}]"#),
        (r#"[], device_ids=[3]"#, r#"[]"#, r#"[]"#),
    ] {
        check(&over_two_meshes(other, argument, result));
    }
}

#[test]
fn layouts_over_other_meshes_become_layouts_over_the_main_one() {
    let text = over_two_meshes(r#"["p"=4, "q"=2]"#, r#"[{"p"}, {"q"}]"#, r#"[{"q"}, {"p"}]"#);
    let partitioned = partition(&module(&text), &mut Options::default()).unwrap();
    let shown = |ty: &shardwise_engine::ShardedType| ty.sharding.as_ref().unwrap().to_string();
    assert_eq!(shown(&partitioned.signature.inputs[1]), r#"<@a, [{"x", "y":(1)2}, {"y":(2)2}]>"#);
    assert_eq!(shown(&partitioned.signature.outputs[0]), r#"<@a, [{"y":(2)2}, {"x", "y":(1)2}]>"#);
    assert!(partitioned.warnings.0.is_empty());
    let text = over_two_meshes(r#"["p"=8], device_ids=[7, 4, 1, 5, 2, 6, 3, 0]"#, r#"[{"p"}, {}]"#, r#"[{}, {"p"}]"#);
    let partitioned = partition(&module(&text), &mut Options::default()).unwrap();
    assert_eq!(shown(&partitioned.signature.inputs[1]), "<@a, [{}, {}]>");
    let codes: Vec<&str> = partitioned.warnings.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["mesh-order"]);
}

#[test]
fn meshes_that_are_written_out_are_meshes() {
    check(
        r#"
func.func @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=2]>, [{"x"}, {"y"}]>}) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}"#,
    );
}

#[test]
fn manual_computations_over_another_mesh_of_the_same_devices() {
    check(
        r#"
sdy.mesh @a = <["x"=2, "y"=4]>
sdy.mesh @b = <["p"=4, "q"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@b, [{"p", "q"}, {}]>] out_shardings=[<@b, [{"p"}, {}]>] manual_axes={"p"} (%arg1: tensor<2x4xf32>) {
    %1 = "stablehlo.all_reduce"(%arg1) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @b, axes = [#stablehlo.axis_ref<name = "p">]>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %8 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %8 : tensor<f32>
    }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.subtract %1, %arg1 : tensor<2x4xf32>
    sdy.return %2 : tensor<2x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}"#,
    );
}

#[test]
fn the_axes_that_the_main_mesh_does_not_have_are_named() {
    let message = |sharding: &str| {
        let text = format!(
            r#"
sdy.mesh @a = <["x"=2, "y"=4]>
sdy.mesh @b = <["p"=2, "q"=4], device_ids=[0, 1, 3, 2, 4, 5, 7, 6]>
func.func @main(%arg0: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@a, [{{"x"}}, {{}}]>}}) -> tensor<8x4xf32> {{
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@b, {sharding}>] out_shardings=[<@b, [{{"p"}}, {{}}]>] manual_axes={{"p"}} (%arg1: tensor<4x4xf32>) {{
    sdy.return %arg1 : tensor<4x4xf32>
  }} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}}"#
        );
        let found = partition(&module(&text), &mut Options::default()).map(|_| ()).unwrap_err();
        assert!(found.iter().all(|d| d.code == "mesh-order"), "{found}");
        found.0[0].message.clone()
    };
    let expected = r#"the axes of @a cannot express "q" of @b"#;
    assert_eq!(message(r#"[{"p", "q"}, {}]"#), expected);
    assert_eq!(message(r#"[{"p"}, {"q"}]"#), expected);
    assert_eq!(message(r#"[{"p"}, {}], replicated={"q"}"#), expected);
    assert_eq!(message(r#"[{"p"}, {}], unreduced={"q"}"#), expected);
}

/// Returns the codes of what is found by verifying a program, or by partitioning it if it is valid. Panics if it is
/// valid and can be partitioned, or if it cannot be parsed.
fn errors(text: &str) -> Vec<&'static str> {
    let module = parse("test.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}"));
    let found = verify(&module);
    if found.has_errors() {
        return found.iter().map(|d| d.code).collect();
    }
    let found = partition(&module, &mut Options::default()).map(|_| ()).unwrap_err();
    found.iter().map(|d| d.code).collect()
}

#[test]
fn meshes_of_other_numbers_of_devices_are_refused() {
    let text = over_two_meshes(r#"["p"=4]"#, r#"[{"p"}, {}]"#, r#"[{}, {"p"}]"#);
    assert_eq!(errors(&text), ["mesh-devices"]);
    let found = partition(&module(&text), &mut Options::default()).map(|_| ()).unwrap_err();
    let message = "a layout is over a mesh of 4 devices, and the program runs on a mesh of 8";
    assert_eq!(found.0[0].message.as_str(), message);
    // A mesh that nothing is over does no harm.
    let unused = r#"
sdy.mesh @unused = <["x"=3]>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  return %arg0 : tensor<4xf32>
}"#;
    check(unused);
}

#[test]
fn processes_that_the_mesh_has_not_are_refused() {
    let of = |op: &str| {
        format!(
            r#"
module attributes {{mhlo.num_partitions = 16 : i32, mhlo.num_replicas = 1 : i32}} {{
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> tensor<8xf32> {{
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{"x"}}]>] out_shardings=[<@mesh, [{{"x"}}]>] manual_axes={{"x"}} (%arg1: tensor<2xf32>) {{
    %1 = {op} : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  }} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}
}}"#
        )
    };
    let broadcast = |groups: &str| {
        let channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
        of(&format!(r#""stablehlo.collective_broadcast"(%arg1) <{{{channel}, replica_groups = dense<{groups}>}}>"#))
    };
    assert_eq!(errors(&broadcast("[[0, 1, 2, 7]]> : tensor<1x4xi64")), ["collective-process"]);
    let pairs = "source_target_pairs = dense<[[0, 9], [9, 1]]> : tensor<2x2xi64>";
    assert_eq!(errors(&of(&format!(r#""stablehlo.collective_permute"(%arg1) <{{{pairs}}}>"#))), ["collective-process"]);
    check(&broadcast("[[0, 1], [3, -1]]> : tensor<2x2xi64"));
    let one = r#"
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#;
    let found = partition(&module(one), &mut Options::default()).map(|_| ()).unwrap_err().to_string();
    assert!(found.contains("names process 1, and the program runs on 1 device\n"), "{found}");
}

#[test]
fn grids_in_the_older_notation_name_each_device_once() {
    let of = |devices: &str| {
        format!(
            r#"
func.func @main(%arg0: tensor<12xf32> {{mhlo.sharding = "{{devices={devices}}}"}}) -> tensor<12xf32> {{
  return %arg0 : tensor<12xf32>
}}"#
        )
    };
    check(&of("[4]0,2,1,3"));
    check(&of("[3]2,0,1"));
    for devices in [
        "[2]0,4",
        "[2]1,2",
        "[4]0,1,1,2",
        "[3]0,9223372036854775808,1",
        "[2]0,1099511627776",
        "[2]0,18446744073709551615",
    ] {
        assert_eq!(errors(&of(devices)), ["gspmd-devices"], "{devices}");
    }
}

#[test]
fn sharding_rules_that_do_not_fit_their_op_are_refused() {
    let of = |rule: &str| {
        format!(
            r#"
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<4x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> tensor<4x8xf32> {{
  %0 = stablehlo.custom_call @annotate_device_placement(%arg0) {{sdy.sharding_rule = #sdy.op_sharding_rule<{rule}>}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}}"#
        )
    };
    check(&of("([i, j])->([i, j]) {i=4, j=8}, custom"));
    for rule in [
        "([i])->([i]) {i=4}",
        "([i, j], [i])->([i, j]) {i=4, j=8}",
        "([i, j])->([i, j]) {i=4, j=9}",
        "([i, j])->([i, k]) {i=4, j=8}",
        "no rule",
    ] {
        assert_eq!(errors(&of(rule)), ["sharding-rule"], "{rule}");
    }
}

/// Tests ops that are linear in each operand alone, on a sum over an axis and a sum over a part of the same axis.
#[test]
fn products_of_sums_over_an_axis_and_its_part() {
    let args = "%a: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>},
  %b: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>},
  %c: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\":(1)2}]>},
  %d: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\":(1)2}, {}]>}";
    let matrices = "(tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi32>";
    let product = |a: &str, b: &str, layout: &str| {
        format!("stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0]{layout} : {matrices}")
    };
    let stated = |axis: &str| {
        format!(" {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{{}}, {{}}], unreduced={{{axis}}}>]>}}")
    };
    let [whole, part] = ["\"x\"", "\"x\":(1)2"].map(stated);
    for last in [format!("stablehlo.multiply %0, %1{whole} : tensor<8x8xi32>"), product("%0", "%1", &whole)] {
        check(&format!(
            "sdy.mesh @mesh = <[\"x\"=4]>
func.func @main({args}) -> (tensor<8x8xi32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}}) {{
  %0 = {}
  %1 = {}
  %2 = {last}
  return %2 : tensor<8x8xi32>
}}",
            product("%a", "%b", &whole),
            product("%c", "%d", &part),
        ));
    }
    // Here the search for layouts leaves the sums open.
    check(&format!(
        "sdy.mesh @mesh = <[\"x\"=4]>
func.func @main({args}) -> (tensor<8xi32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}]>}}) {{
  %0 = {}
  %1 = {}
  %2 = {}
  %z = stablehlo.constant dense<0> : tensor<i32>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x8xi32>, tensor<i32>) -> tensor<8xi32>
  return %3 : tensor<8xi32>
}}",
        product("%a", "%b", ""),
        product("%c", "%d", ""),
        product("%0", "%1", ""),
    ));
}

/// Tests parts of one axis that are held back for later priorities, at the boundary of a manual computation.
#[test]
fn parts_of_an_axis_with_priorities_around_a_manual_computation() {
    for outside in ["{\"x\":(1)2}p1, {\"x\":(2)2}p2, {?}]", "{\"x\":(1)2}p1, {}, {?}], replicated={\"x\":(2)2}"] {
        check(&format!(
            "sdy.mesh @mesh = <[\"x\"=4, \"m\"=2, \"y\"=2]>
func.func @main(%a: tensor<8x8x8x8xi32>) -> tensor<8x8x8x8xi32> {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{\"m\"}}, {{}}, {{}}, {{\"y\"}}]>]
      out_shardings=[<@mesh, [{{\"m\"}}, {outside}>] manual_axes={{\"m\"}} (%b: tensor<4x8x8x8xi32>) {{
    %1 = stablehlo.negate %b : tensor<4x8x8x8xi32>
    sdy.return %1 : tensor<4x8x8x8xi32>
  }} : (tensor<8x8x8x8xi32>) -> tensor<8x8x8x8xi32>
  %2 = stablehlo.negate %0 : tensor<8x8x8x8xi32>
  return %2 : tensor<8x8x8x8xi32>
}}"
        ));
    }
}
