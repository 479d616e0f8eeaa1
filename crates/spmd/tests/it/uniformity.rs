//! Tests that values that are inferred to be equal on devices are equal when the program runs.

use crate::generate::{Program, program};
use shardwise_base::{AxisRef, Literal};
use shardwise_engine::{Signature, layout};
use shardwise_interp::run_grid;
use shardwise_ir::{Func, Module, Op, Value};
use shardwise_spmd::{Options, partition, uniform};

fn top_level_values(func: &Func) -> Vec<Value> {
    let body = &func.body;
    let ops = &body[body.entry()].ops;
    let made = ops.iter().flat_map(|&op| body[op].results.iter().copied());
    body.args().iter().copied().chain(made).collect()
}

fn giving_all(module: &Module) -> Module {
    let mut module = module.clone();
    let func = &mut module.funcs[0];
    let values = top_level_values(func);
    let last: Op = func.body.terminator(func.body.entry()).unwrap();
    func.result_types = values.iter().map(|&v| func.body.ty(v).clone()).collect();
    func.result_shardings = vec![None; values.len()];
    func.result_attrs = vec![Default::default(); values.len()];
    func.body.op_mut(last).operands = values.into_iter().collect();
    module
}

/// Returns the part of each argument that each device gets, by argument and then by device, padded with zeros to the
/// sizes that `module` takes. `module` is partitioned.
///
/// # Panics
/// Panics if an argument has no sharding in its type.
pub fn parts(module: &Module, args: &[Literal]) -> Vec<Vec<Literal>> {
    let signature = Signature::of(module.main().unwrap()).unwrap();
    let split = |(arg, ty): (&Literal, &shardwise_engine::ShardedType)| {
        let sharding = ty.sharding.as_ref().unwrap();
        let local = sharding.local_shape(&ty.ty.shape);
        layout::split(arg, sharding).iter().map(|part| layout::pad_to(part, &local)).collect()
    };
    args.iter().zip(&signature.inputs).map(split).collect()
}

fn check(seed: u64, length: usize) {
    let Program { module, args } = program(seed, length);
    let local = partition(&module, &mut Options::default()).unwrap().module;
    let mesh = local.main_mesh().unwrap().clone();
    let all = giving_all(&local);
    let held = run_grid(&all, mesh.size(), parts(&local, &args)).unwrap();
    let varying = uniform::infer(&local, local.main().unwrap());
    for (v, held) in top_level_values(local.main().unwrap()).into_iter().zip(held) {
        let varying = &varying[v];
        let instance = |device: usize| AxisRef::index_in(&mesh, &varying.axes(&mesh), &mesh.coordinates(device));
        for device in 0..mesh.size() {
            let first = (0..mesh.size()).find(|&d| instance(d) == instance(device)).unwrap();
            let what = format!("seed {seed}: {v:?} varies over {}", varying.display(&mesh));
            assert_eq!(held[device], held[first], "{what}, but devices {first} and {device} differ");
        }
    }
}

#[test]
fn values_said_to_be_equal_are() {
    (3_000_000..3_000_150).for_each(|seed| check(seed, 4));
}

#[test]
fn the_partitioned_program_says_what_varies() {
    let text = r#"sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  return %arg0 : tensor<8x4xf32>
}"#;
    let module = shardwise_ir::text::parse("test", text, &shardwise_ops::OPS).unwrap();
    let local = partition(&module, &mut Options::default()).unwrap().module;
    let body = &local.main().unwrap().body;
    let mesh = local.main_mesh().unwrap();
    let shown = |v: shardwise_ir::Value| body[v].varying.as_ref().unwrap().display(mesh).to_string();
    assert_eq!(shown(body.args()[0]), "{x,y}");
    assert_eq!(shown(body.results()[0]), "{x}");
}

/// Returns the warnings about a manual computation over x and y with this body, whose result is claimed to be equal on
/// all devices. Panics if the program cannot be parsed or partitioned.
fn warnings(body: &str) -> String {
    let text = format!(
        r#"sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%arg0: tensor<8xf32>) -> tensor<4xf32> {{
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{"x"}}]>] out_shardings=[<@mesh, [{{}}]>] manual_axes={{"x", "y"}} (%a: tensor<4xf32>) {{
{body}
  }} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}"#
    );
    let module = shardwise_ir::text::parse("a.mlir", &text, &shardwise_ops::OPS).unwrap_or_else(|e| panic!("{e}"));
    partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}")).warnings.to_string()
}

#[test]
fn a_claim_that_cannot_be_proved_is_a_warning() {
    let sum = r#"
    %sum = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%b: tensor<f32>, %c: tensor<f32>):
      %s = stablehlo.add %b, %c : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>"#;
    assert_eq!(warnings(&format!("{sum}\n    sdy.return %sum : tensor<4xf32>")), "");
    let warns = |body: &str, axes: &str| {
        let text = warnings(body);
        let message = format!("claims a result that is equal along {axes}, which cannot be proved");
        assert!(text.starts_with("warning[claim-unproved]") && text.contains(&message), "{text}");
        assert!(text.contains("--> a.mlir:3:3") && text.matches("warning[").count() == 1, "{text}");
    };
    warns("    sdy.return %a : tensor<4xf32>", "\"x\"");
    // Each device's own number, however it is come by.
    let number = r#"
    %i = stablehlo.partition_id : tensor<ui32>
    %f = stablehlo.convert %i : (tensor<ui32>) -> tensor<f32>
    %v = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4xf32>
    sdy.return %v : tensor<4xf32>"#;
    warns(number, "\"x\", \"y\"");
}

/// Returns loops in each other, `depth` deep. Each begins with zeros and adds the result of the next one, and the last
/// one adds `%v`. The first one is `%w0`.
fn nested_loops(depth: usize) -> String {
    let ty = "tensor<4xf32>";
    (0..depth).rev().fold(String::new(), |inner, k| {
        let added = if k + 1 == depth { "%v".to_string() } else { format!("%w{}#1", k + 1) };
        format!(
            "%z{k} = stablehlo.constant dense<0.0> : {ty}
%w{k}:2 = stablehlo.while(%i{k} = %zero, %y{k} = %z{k}) : tensor<i32>, {ty} cond {{
  %t{k} = stablehlo.compare LT, %i{k}, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %t{k} : tensor<i1>
}} do {{
  %j{k} = stablehlo.add %i{k}, %one : tensor<i32>
{inner}  %s{k} = stablehlo.add %y{k}, {added} : {ty}
  stablehlo.return %j{k}, %s{k} : tensor<i32>, {ty}
}}
"
        )
    })
}

/// Each loop has two rounds. If each round of a loop began the loops in it anew, this would not end.
#[test]
fn loops_in_loops_take_no_more_rounds() {
    let text = format!(
        "sdy.mesh @mesh = <[\"x\"=2]>
func.func @main(%v: tensor<4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}]>}}) -> tensor<4xf32> {{
%zero = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
{}return %w0#1 : tensor<4xf32>
}}",
        nested_loops(60)
    );
    let module = shardwise_ir::text::parse("test.mlir", &text, &shardwise_ops::OPS).unwrap_or_else(|e| panic!("{e}"));
    let func = module.main().unwrap();
    let result = func.body.results()[0];
    let varying = uniform::infer(&module, func);
    assert!(!varying[result].is_uniform());
}
