//! The number of ops of a batch, and of the rules that ops need for it.

mod common;

use common::{check_batch, parse, run, values, with_main};
use shardwise_base::Literal;
use shardwise_ir::{Func, Module, text};
use shardwise_ops::batch::Batched;
use shardwise_ops::{OPS, Opcode};
use shardwise_transform::{Batch, vmap, vmap_with};
use std::collections::BTreeSet;

/// Returns the examples of all ops that the parser takes, with their opcodes.
fn examples() -> impl Iterator<Item = (Opcode, Module)> {
    let parsed = |&op: &Opcode| Some((op, text::parse("example.mlir", op.facts().example(op), &OPS).ok()?));
    Opcode::ALL.iter().filter_map(parsed)
}

fn ops(func: &Func) -> usize {
    func.body.walk().len()
}

/// Returns all choices of at least one of the first six of `count` arguments.
fn choices(count: usize) -> impl Iterator<Item = Vec<usize>> {
    (1..1usize << count.min(6)).map(move |mask| (0..count).filter(|i| mask >> i & 1 == 1).collect())
}

/// The ops of which the batch of the example has more than twice as many ops as the example, for some choice of mapped
/// arguments, each with the reason.
const LARGER: &[(&str, &str)] = &[
    ("chlo.scan", "it becomes a loop"),
    ("stablehlo.batch_norm_grad", "its features are one dimension, so that it becomes the ops of its formula"),
    ("stablehlo.batch_norm_inference", "its features are one dimension, so that it becomes the ops of its formula"),
    ("stablehlo.batch_norm_training", "its features are one dimension, so that it becomes the ops of its formula"),
    ("stablehlo.clamp", "bounds that differ along the batch are repeated over the other dimensions"),
    ("stablehlo.convolution", "the batch is merged with another dimension and taken apart again"),
    ("stablehlo.dynamic_conv", "the batch is merged with another dimension and taken apart again"),
    ("stablehlo.dynamic_pad", "a padding that differs along the batch is chosen by a mask"),
    ("stablehlo.dynamic_slice", "slices that start at different positions are a gather"),
    ("stablehlo.dynamic_update_slice", "updates that start at different positions are a scatter"),
    ("stablehlo.pad", "a padding that differs along the batch is chosen by a mask"),
    ("stablehlo.reduce", "an initial value that differs along the batch is combined with the rest afterwards"),
    ("stablehlo.reduce_window", "an initial value that differs along the batch becomes an element of each window"),
    ("stablehlo.while", "where the condition differs along the batch, finished indices keep their values"),
];

#[test]
fn a_batch_has_at_most_twice_as_many_ops() {
    let mut larger = BTreeSet::new();
    let mut count = 0;
    for (opcode, module) in examples() {
        let Some(main) = module.main() else { continue };
        for mapped in choices(main.body.args().len()) {
            let Ok(batch) = vmap(&module, main, &mapped, 3) else { continue };
            count += 1;
            // The terminator counts on both sides.
            if ops(&batch.func) > 2 * ops(main) {
                larger.insert(format!("{} {mapped:?}: {} for {}", opcode.name(), ops(&batch.func), ops(main)));
            }
        }
    }
    assert!(count >= 200, "{count} batches");
    let is_listed = |text: &&String| LARGER.iter().any(|(name, _)| text.starts_with(&format!("{name} ")));
    let new: Vec<&String> = larger.iter().filter(|text| !is_listed(text)).collect();
    assert!(new.is_empty(), "{new:#?}");
    for (name, _) in LARGER {
        assert!(larger.iter().any(|text| text.starts_with(&format!("{name} "))), "{name} is not larger any more");
    }
}

#[test]
fn few_ops_need_a_rule_of_their_own() {
    let mut own = BTreeSet::new();
    for (opcode, module) in examples() {
        let Some(main) = module.main() else { continue };
        for op in main.body.walk() {
            let view = module.view(&main.body, op);
            if Opcode::of_view(&view) != opcode {
                continue;
            }
            for mapped in choices(view.operands().len()) {
                let mask: Vec<bool> = (0..view.operands().len()).map(|i| mapped.contains(&i)).collect();
                if let Batched::By(why, _) = opcode.facts().batch(&view, &mask) {
                    own.insert((opcode.name(), why));
                }
            }
        }
    }
    let ops: BTreeSet<&str> = own.iter().map(|(op, _)| *op).collect();
    assert!(ops.len() < 25, "{} ops: {own:#?}", ops.len());
    assert!(own.iter().all(|(_, why)| why.len() > 10), "{own:#?}");
}

fn select_and_scatter(select: &str, scatter: &str) -> String {
    format!(
        "func.func @main(%arg0: tensor<4x5xf64>, %arg1: tensor<2x5xf64>, %arg2: tensor<f64>) -> tensor<4x5xf64> {{
  %0 = \"stablehlo.select_and_scatter\"(%arg0, %arg1, %arg2) <{{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}}> ({{
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    {select}
    stablehlo.return %1 : tensor<i1>
  }}, {{
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.{scatter} %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }}) : (tensor<4x5xf64>, tensor<2x5xf64>, tensor<f64>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}}"
    )
}

#[test]
fn a_scattered_sum_may_start_from_another_value_for_each_index() {
    let compare = "%1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>";
    let of_squares = "%s = stablehlo.multiply %a, %a : tensor<f64>
    %t = stablehlo.multiply %b, %b : tensor<f64>
    %1 = stablehlo.compare LT, %s, %t, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>";
    for select in [compare, of_squares] {
        check_batch(&select_and_scatter(select, "add"), 1e-14);
        // The initial value of another reduction is not a summand.
        let module = parse(&select_and_scatter(select, "maximum"));
        let main = module.main().unwrap();
        assert!(vmap(&module, main, &[0, 1], 3).is_ok());
        let found = vmap(&module, main, &[0, 2], 3).unwrap_err();
        assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["no-batch"], "{found}");
    }
}

#[test]
fn an_argument_that_is_not_there() {
    let refused = |args: &str, index: usize| {
        let module = parse(&format!("func.func @main({args}) -> tensor<f64> {{\n  return %a : tensor<f64>\n}}"));
        vmap(&module, module.main().unwrap(), &[index], 3).unwrap_err().to_string()
    };
    let one = refused("%a: tensor<f64>", 1);
    assert!(one.contains("the function has 1 argument, and no argument 1"), "{one}");
    let two = refused("%a: tensor<f64>, %b: tensor<f64>", 2);
    assert!(two.contains("the function has 2 arguments, and no argument 2"), "{two}");
}

/// Returns a program of the arguments `%x` and `%u` with one op of 65 inputs, whose region adds the two elements of
/// each input. `operands` are names and types of values, and how often each is an operand.
fn of_many_inputs(op: &str, attrs: &str, operands: &[(&str, &str, usize)], result: &str) -> String {
    let list = |f: &dyn Fn(usize) -> String| (0..65).map(f).collect::<Vec<_>>().join(", ");
    let repeated = |text: &str, count: usize| vec![text.to_string(); count];
    let names: Vec<String> = operands.iter().flat_map(|(name, _, count)| repeated(name, *count)).collect();
    let types: Vec<String> = operands.iter().flat_map(|(_, ty, count)| repeated(ty, *count)).collect();
    let sums: String = (0..65).map(|i| format!("    %s{i} = stablehlo.add %a{i}, %b{i} : tensor<f64>\n")).collect();
    format!(
        "func.func @main(%x: tensor<3xf64>, %u: tensor<2xf64>) -> {result} {{
  %i = stablehlo.constant dense<[[0], [2]]> : tensor<2x1xi32>
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0:65 = \"stablehlo.{op}\"({}) <{{{attrs}}}> ({{
  ^bb0({}, {}):
{sums}    stablehlo.return {} : {}
  }}) : ({}) -> ({})
  return %0#64 : {result}
}}",
        names.join(", "),
        list(&|i| format!("%a{i}: tensor<f64>")),
        list(&|i| format!("%b{i}: tensor<f64>")),
        list(&|i| format!("%s{i}")),
        list(&|_| "tensor<f64>".into()),
        types.join(", "),
        list(&|_| result.into()),
    )
}

#[test]
fn an_op_of_many_inputs_has_a_batch() {
    let (x, u) = (("%x", "tensor<3xf64>", 65), ("%u", "tensor<2xf64>", 65));
    let (indices, zero) = (("%i", "tensor<2x1xi32>", 1), ("%z", "tensor<f64>", 65));
    let dims = "scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], \
                scatter_dims_to_operand_dims = [0], index_vector_dim = 1>";
    let window = "window_dimensions = array<i64: 2>";
    for source in [
        of_many_inputs("scatter", dims, &[x, indices, u], "tensor<3xf64>"),
        of_many_inputs("reduce", "dimensions = array<i64: 0>", &[x, zero], "tensor<f64>"),
        of_many_inputs("reduce_window", window, &[x, zero], "tensor<2xf64>"),
    ] {
        check_batch(&source, 1e-14);
    }
}

#[test]
fn a_layout_that_names_an_axis_of_the_batch() {
    let split = r#"{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}"#;
    let replicated = r#"{sdy.sharding = #sdy.sharding<@mesh, [{}], replicated={"x"}>}"#;
    for [argument, result] in [[split, ""], [replicated, ""], ["", split], [split, split]] {
        let module = parse(&format!(
            r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<2xf64> {argument}) -> (tensor<2xf64> {result}) {{
  return %arg0 : tensor<2xf64>
}}"#
        ));
        let batch = Batch { size: 2, has_all: true, axis: None, layout: &["x".to_string()] };
        let found = vmap_with(&module, module.main().unwrap(), &[0], batch).unwrap_err();
        assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["spmd-axis"], "{argument} {result}: {found}");
    }
}

#[test]
fn the_own_elements_of_lists_keep_the_signs_of_zeros() {
    let module = parse(
        r#"func.func @main(%x: tensor<2xf64>) -> tensor<f64> {
  %0 = stablehlo.custom_call @shardwise.axis_spread(%x) {shardwise.axis = "i"} : (tensor<2xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}"#,
    );
    let batch = Batch { size: 2, has_all: true, axis: Some("i"), layout: &[] };
    let batch = with_main(&module, vmap_with(&module, module.main().unwrap(), &[0], batch).unwrap().func);
    let own = run(&batch, &[Literal::new([2, 2], &[-0.0, 3.0, 5.0, 0.0])]);
    let signs: Vec<bool> = values(&own[0]).iter().map(|x| x.is_sign_negative()).collect();
    assert_eq!((values(&own[0]), signs), (vec![0.0, 0.0], vec![true, false]));
}
