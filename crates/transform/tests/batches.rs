//! The number of ops of a batch, and of the rules that ops need for it.

mod common;

use common::{check_batch, parse, run, values, with_main};
use shardwise_base::{Literal, SubAxis};
use shardwise_ir::{Func, Module, Type, text};
use shardwise_ops::batch::Batched;
use shardwise_ops::{OPS, Opcode};
use shardwise_transform::{Batch, BatchAxis, vmap, vmap_with};
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
fn an_approximate_selection_has_a_batch() {
    let selection = |elements: &str, args: &str| {
        format!(
            r#"func.func @main({args}) -> (tensor<4x2xf64>, tensor<4x2xf64>) {{
  %i = stablehlo.iota dim = 1 : tensor<4x5xi32>
  %n = stablehlo.constant dense<-1> : tensor<i32>
  %low = stablehlo.constant dense<-1.0> : tensor<f64>
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, {elements}, %n) {{called_computations = [@top_k_gt_f64_comparator], mhlo.backend_config = {{reduction_dim = 1 : i64, top_k = 2 : i64}}}} : (tensor<4x5xf64>, tensor<4x5xi32>, tensor<f64>, tensor<i32>) -> (tensor<4x2xf64>, tensor<4x2xi32>)
  %1 = stablehlo.convert %0#1 : (tensor<4x2xi32>) -> tensor<4x2xf64>
  return %0#0, %1 : tensor<4x2xf64>, tensor<4x2xf64>
}}"#
        )
    };
    check_batch(&selection("%low", "%x: tensor<4x5xf64>"), 0.0);
    let module = parse(&selection("%init", "%x: tensor<4x5xf64>, %init: tensor<f64>"));
    let found = vmap(&module, module.main().unwrap(), &[0, 1], 3).unwrap_err();
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["no-batch"], "{found}");
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
    let module = |argument: &str, result: &str| {
        parse(&format!(
            r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<2xf64> {argument}) -> (tensor<2xf64> {result}) {{
  return %arg0 : tensor<2xf64>
}}"#
        ))
    };
    let axes = [BatchAxis::whole("x")];
    let batch = || Batch { size: 2, has_all: true, axis: None, layout: &axes };
    for [argument, result] in [[split, ""], ["", split], [split, split], [replicated, split]] {
        let module = module(argument, result);
        let found = vmap_with(&module, module.main().unwrap(), &[0], batch()).unwrap_err();
        assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["spmd-axis"], "{argument} {result}: {found}");
    }
    // Each element may be replicated over the axis that splits the batch.
    let module = module(replicated, replicated);
    let made = vmap_with(&module, module.main().unwrap(), &[0], batch()).unwrap_or_else(|e| panic!("{e}"));
    let layout = made.func.body.sharding(made.func.body.args()[0]).unwrap();
    assert_eq!((layout.dims[0].axes.len(), layout.replicated.len()), (1, 0));
}

/// A batch that is split over a part of an axis leaves the other part to the function.
#[test]
fn a_batch_over_a_part_of_an_axis() {
    let module = parse(
        r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<2xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}) -> tensor<2xf64> {
  return %arg0 : tensor<2xf64>
}"#,
    );
    let batch = |pre_size: usize| {
        let axes = [BatchAxis { name: "x".into(), part: Some(SubAxis::new(pre_size, 2)) }];
        vmap_with(&module, module.main().unwrap(), &[0], Batch { size: 2, has_all: true, axis: None, layout: &axes })
    };
    let made = batch(1).unwrap();
    let layout = made.func.body.sharding(made.func.body.args()[0]).unwrap();
    assert_eq!(layout.dims.iter().map(|d| d.axes[0].pre_size()).collect::<Vec<_>>(), [1, 2]);
    let message = batch(2).unwrap_err().to_string();
    assert!(message.contains(r#"uses the axis "x":(2)2, over"#), "{message}");
}

#[test]
fn a_computation_that_is_manual_over_some_axes_of_the_batch() {
    let module = parse(
        r#"sdy.mesh @mesh = <["data"=2, "pipe"=2, "model"=2]>
func.func @main(%x: tensor<6xf64>) -> tensor<6xf64> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"model"}]>] out_shardings=[<@mesh, [{"model"}]>] manual_axes={"data", "model"} (%a: tensor<3xf64>) {
    %1 = stablehlo.sine %a : tensor<3xf64>
    sdy.return %1 : tensor<3xf64>
  } : (tensor<6xf64>) -> tensor<6xf64>
  return %0 : tensor<6xf64>
}"#,
    );
    let main = module.main().unwrap();
    let x: Vec<f64> = (0..30).map(|i| i as f64 / 7.0).collect();
    // A batch of 4 is split over "data", and one of 5 is whole along it.
    for size in [4, 5] {
        let x = [Literal::new([size, 6], &x[..size * 6])];
        let whole = run(&with_main(&module, vmap(&module, main, &[0], size).unwrap().func), &x);
        for axes in [["data", "pipe"], ["pipe", "data"]] {
            let axes = axes.map(BatchAxis::whole);
            let made =
                vmap_with(&module, main, &[0], Batch { size, has_all: true, axis: None, layout: &axes }).unwrap();
            assert_eq!(run(&with_main(&module, made.func), &x), whole);
        }
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

#[test]
fn a_condition_that_a_branch_returns() {
    let module = parse(
        r#"func.func @main(%x: tensor<f64>) -> tensor<f64> {
  %two = stablehlo.constant dense<2.0> : tensor<f64>
  %big = stablehlo.constant dense<20.0> : tensor<f64>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %w = stablehlo.while(%y = %x) : tensor<f64>
  cond {
    %t = stablehlo.compare LT, %y, %big : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %r = "stablehlo.if"(%t) ({
      stablehlo.return %true : tensor<i1>
    }, {
      stablehlo.return %false : tensor<i1>
    }) : (tensor<i1>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  } do {
    %y2 = stablehlo.multiply %y, %two : tensor<f64>
    stablehlo.return %y2 : tensor<f64>
  }
  return %w : tensor<f64>
}"#,
    );
    let batch = with_main(&module, vmap(&module, module.main().unwrap(), &[0], 3).unwrap().func);
    let found = run(&batch, &[Literal::new([3], &[0.5, 3.0, 2.5])]);
    assert_eq!(values(&found[0]), [32.0, 24.0, 20.0]);
}

/// Returns a program of the arguments `%x`, `%y` and `%z0` with a loop of three turns, which carries `%z` from `%z0`
/// on.
/// `turn` makes `%r`, the next `%z`, of `ty`.
fn of_three_turns(turn: &str, ty: &str) -> String {
    format!(
        "func.func @main(%x: tensor<2xf64>, %y: tensor<f64>, %z0: {ty}) -> {ty} {{
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %two = stablehlo.constant dense<2.0> : tensor<f64>
  %w:2 = stablehlo.while(%i = %c0, %z = %z0) : tensor<i32>, {ty}
  cond {{
    %t = stablehlo.compare LT, %i, %c3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }} do {{
    %n = stablehlo.add %i, %c1 : tensor<i32>
    {turn}
    stablehlo.return %n, %r : tensor<i32>, {ty}
  }}
  return %w#1 : {ty}
}}"
    )
}

#[test]
fn a_branch_in_a_loop_makes_values_that_differ() {
    let constants = r#"%p = stablehlo.compare GT, %y, %one : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %r = "stablehlo.if"(%p) ({
      stablehlo.return %one : tensor<f64>
    }, {
      stablehlo.return %two : tensor<f64>
    }) : (tensor<i1>) -> tensor<f64>"#;
    let other_result = r#"%p = stablehlo.compare GT, %y, %one : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %b:2 = "stablehlo.if"(%p) ({
      %s = stablehlo.add %x, %x : tensor<2xf64>
      %d = stablehlo.add %z, %z : tensor<f64>
      stablehlo.return %s, %d : tensor<2xf64>, tensor<f64>
    }, {
      stablehlo.return %x, %z : tensor<2xf64>, tensor<f64>
    }) : (tensor<i1>) -> (tensor<2xf64>, tensor<f64>)
    %r = stablehlo.add %b#1, %one : tensor<f64>"#;
    check_batch(&of_three_turns(constants, "tensor<f64>"), 0.0);
    check_batch(&of_three_turns(other_result, "tensor<f64>"), 0.0);
}

#[test]
fn a_loop_in_a_loop_counts_turns_that_differ() {
    let turn = "%big = stablehlo.constant dense<20.0> : tensor<f64>
    %v:2 = stablehlo.while(%a = %y, %k = %z) : tensor<f64>, tensor<f64>
    cond {
      %t = stablehlo.compare LT, %a, %big : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %a2 = stablehlo.multiply %a, %two : tensor<f64>
      %k2 = stablehlo.add %k, %one : tensor<f64>
      stablehlo.return %a2, %k2 : tensor<f64>, tensor<f64>
    }
    %r = stablehlo.add %v#1, %one : tensor<f64>";
    check_batch(&of_three_turns(turn, "tensor<f64>"), 0.0);
}

#[test]
fn barriers_and_futures_in_a_loop() {
    let barrier = "%b:2 = stablehlo.optimization_barrier %x, %z : tensor<2xf64>, tensor<f64>
    %r = stablehlo.add %b#1, %one : tensor<f64>";
    check_batch(&of_three_turns(barrier, "tensor<f64>"), 0.0);
    let future = r#"%f = "stablehlo.async_start"(%x) ({
    ^bb0(%q: tensor<2xf64>):
      %s = stablehlo.slice %q [1:2] : (tensor<2xf64>) -> tensor<1xf64>
      stablehlo.return %s : tensor<1xf64>
    }) : (tensor<2xf64>) -> !stablehlo.future<tensor<1xf64>>
    %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<1xf64>>) -> tensor<1xf64>"#;
    check_batch(&of_three_turns(future, "tensor<1xf64>"), 0.0);
}

#[test]
fn tokens_have_no_batch_of_their_own() {
    let in_loop = "func.func @main(%x: tensor<f64>) -> tensor<f64> {
  %k = stablehlo.create_token : !stablehlo.token
  %big = stablehlo.constant dense<20.0> : tensor<f64>
  %w:2 = stablehlo.while(%y = %x, %t = %k) : tensor<f64>, !stablehlo.token
  cond {
    %c = stablehlo.compare LT, %y, %big : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %y2 = stablehlo.add %y, %y : tensor<f64>
    %t2 = stablehlo.after_all %t : !stablehlo.token
    stablehlo.return %y2, %t2 : tensor<f64>, !stablehlo.token
  }
  return %w#0 : tensor<f64>
}";
    let in_branch = r#"func.func @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {
  %k = stablehlo.create_token : !stablehlo.token
  %i = stablehlo.convert %y : (tensor<f64>) -> tensor<i32>
  %0:2 = "stablehlo.case"(%i) ({
    %a = stablehlo.add %x, %x : tensor<f64>
    stablehlo.return %a, %k : tensor<f64>, !stablehlo.token
  }, {
    stablehlo.return %x, %k : tensor<f64>, !stablehlo.token
  }) : (tensor<i32>) -> (tensor<f64>, !stablehlo.token)
  return %0#0 : tensor<f64>
}"#;
    check_batch(in_loop, 0.0);
    check_batch(in_branch, 0.0);
    let module = parse(
        "func.func @main(%x: tensor<f64>, %k: !stablehlo.token) -> (tensor<f64>, !stablehlo.token) {
  %0 = stablehlo.after_all %k : !stablehlo.token
  return %x, %0 : tensor<f64>, !stablehlo.token
}",
    );
    let batch = vmap(&module, module.main().unwrap(), &[0, 1], 3).unwrap();
    assert_eq!(batch.mapped, [true, false]);
    assert_eq!(batch.func.result_types[1], Type::Token);
    with_main(&module, batch.func);
}

#[test]
fn a_tuple_has_no_batch() {
    let module = parse(
        "func.func @main(%x: tuple<tensor<f64>>) -> tensor<f64> {
  %0 = stablehlo.get_tuple_element %x[0] : (tuple<tensor<f64>>) -> tensor<f64>
  return %0 : tensor<f64>
}",
    );
    let found = vmap(&module, module.main().unwrap(), &[0], 3).unwrap_err();
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["no-batch"], "{found}");
}

#[test]
fn a_batch_that_is_too_large() {
    let module = parse(
        "func.func @main(%a: tensor<3xf64>) -> tensor<3xf64> {
  %c = stablehlo.constant dense<1.0> : tensor<3xf64>
  %0 = stablehlo.add %a, %c : tensor<3xf64>
  return %0 : tensor<3xf64>
}",
    );
    for args in [&[0][..], &[]] {
        let found = vmap(&module, module.main().unwrap(), args, usize::MAX / 2).unwrap_err();
        assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["transform-options"], "{found}");
    }
}

#[test]
fn a_result_has_the_memory_of_an_argument_only_if_their_types_are_equal() {
    let module = parse(
        "func.func @main(%a: tensor<4xf64> {tf.aliasing_output = 0 : i32}, %b: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.multiply %a, %b : tensor<4xf64>
  return %0 : tensor<4xf64>
}",
    );
    for (mapped, is_kept) in [(0, true), (1, false)] {
        let batch = vmap(&module, module.main().unwrap(), &[mapped], 3).unwrap();
        assert_eq!(batch.func.arg_attrs[0].contains("tf.aliasing_output"), is_kept, "argument {mapped}");
    }
}
