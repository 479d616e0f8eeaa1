//! Derivatives and batches of small programs, compared with differences of values and with loops over the batch.

mod common;

use common::{check, check_batch, numbers, parse, printed, run, values, with_main};
use shardwise_base::{Account, Budget, CancelToken, Stop};
use shardwise_ir::{Module, text, verify};
use shardwise_ops::derivative::Derivative;
use shardwise_ops::{OPS, Opcode, PropagationClass};
use shardwise_transform::{jvp, linearize, vjp, vmap};

/// Checks the derivatives of a program, its batches for each choice of mapped arguments, and the derivatives of the
/// batch in all arguments. Numbers of a batch must be equal to the expected ones. Panics if a check fails.
fn check_all(source: &str) {
    check_all_within(source, 0.0);
}

/// Checks what [`check_all`] checks. A number of a batch may differ from the expected one by `part` of one plus its
/// absolute value. Panics if a check fails.
fn check_all_within(source: &str, part: f64) {
    check(source);
    check_batch(source, part);
    let module = parse(source);
    let main = module.main().unwrap();
    let all: Vec<usize> = (0..main.body.args().len()).collect();
    check(&printed(&with_main(&module, vmap(&module, main, &all, 2).unwrap().func)));
}

/// Returns a program that applies an op to one array, or `None` if this is no valid program. For arguments between 0.2
/// and 1.5, the numbers are in the domain of the op: inverse functions are not defined everywhere.
fn of_one_number(op: Opcode) -> Option<String> {
    let (moved, number) = match op {
        Opcode::ChloAsin | Opcode::ChloAcos | Opcode::ChloAtanh | Opcode::ChloErfInv => ("multiply", "0.5"),
        Opcode::ChloAcosh => ("add", "1.0"),
        _ => ("multiply", "1.0"),
    };
    let arrow = if op.name().starts_with("chlo.") { "tensor<3x2xf64> -> " } else { "" };
    let text = format!(
        "func.func @main(%arg0: tensor<3x2xf64>) -> tensor<3x2xf64> {{
  %0 = stablehlo.constant dense<{number}> : tensor<3x2xf64>
  %1 = stablehlo.{moved} %arg0, %0 : tensor<3x2xf64>
  %2 = {} %1 : {arrow}tensor<3x2xf64>
  return %2 : tensor<3x2xf64>
}}",
        op.name()
    );
    let module = text::parse("test.mlir", &text, &OPS).ok()?;
    verify(&module).is_empty().then_some(text)
}

/// Checks the derivatives and batches of all elementwise ops that accept one `f64` array and return one, so that a new
/// op whose derivative is wrong or forgotten is found.
#[test]
fn functions_of_one_number() {
    let mut without = vec![];
    for (&op, text) in Opcode::ALL.iter().filter_map(|op| Some((op, of_one_number(*op)?))) {
        let module = parse(&text);
        let main = module.main().unwrap();
        let last = *main.body.region(main.body.entry()).ops.iter().rev().nth(1).unwrap();
        let view = module.view(&main.body, last);
        if op.facts().propagation_class(&view) != PropagationClass::Elementwise {
            continue;
        }
        match op.facts().derivative(&view) {
            Derivative::None(why) => without.push(format!("{}: {why}", op.name())),
            _ => check_all(&text),
        }
    }
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn functions_of_two_numbers() {
    for op in ["add", "subtract", "multiply", "divide", "power", "atan2", "remainder"] {
        check_all(&format!(
            "func.func @main(%arg0: tensor<3x2xf64>, %arg1: tensor<3x2xf64>) -> tensor<3x2xf64> {{
  %0 = stablehlo.{op} %arg0, %arg1 : tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}}"
        ));
    }
}

#[test]
fn choices() {
    check_all(
        "func.func @main(%arg0: tensor<3x2xf64>, %arg1: tensor<3x2xf64>, %arg2: tensor<f64>, %arg3: tensor<f64>) -> (tensor<3x2xf64>, tensor<3x2xf64>) {
  %0 = stablehlo.compare GT, %arg0, %arg1 : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xi1>
  %1 = stablehlo.select %0, %arg0, %arg1 : tensor<3x2xi1>, tensor<3x2xf64>
  %2 = stablehlo.maximum %arg0, %1 : tensor<3x2xf64>
  %low = stablehlo.minimum %arg2, %arg3 : tensor<f64>
  %high = stablehlo.maximum %arg2, %arg3 : tensor<f64>
  %3 = stablehlo.clamp %low, %2, %high : (tensor<f64>, tensor<3x2xf64>, tensor<f64>) -> tensor<3x2xf64>
  return %1, %3 : tensor<3x2xf64>, tensor<3x2xf64>
}",
    );
}

/// Tests that the products in a gradient have the precisions of the operands whose places they take.
#[test]
fn products_in_gradients_keep_the_precision() {
    let module = parse(
        "func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3x2xf32>) -> tensor<4x2xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGH] : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}",
    );
    let gradient = vjp(&module, module.main().unwrap(), &[0, 1]).unwrap();
    let text = printed(&with_main(&module, gradient));
    let precisions: Vec<&str> =
        text.lines().filter_map(|l| Some(l.split_once("precision = ")?.1.split_once(']')?.0)).collect();
    assert_eq!(precisions, ["[HIGHEST, HIGH", "[HIGH, HIGHEST", "[HIGHEST, HIGH"], "{text}");
}

#[test]
fn movements() {
    check_all(
        "func.func @main(%arg0: tensor<4x3xf64>, %arg1: tensor<f64>) -> (tensor<3x4xf64>, tensor<2x6xf64>, tensor<2x2xf64>, tensor<8x4xf64>, tensor<4x2x3xf64>) {
  %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x3xf64>) -> tensor<3x4xf64>
  %1 = stablehlo.reshape %arg0 : (tensor<4x3xf64>) -> tensor<2x6xf64>
  %2 = stablehlo.slice %arg0 [0:4:2, 1:3] : (tensor<4x3xf64>) -> tensor<2x2xf64>
  %3 = stablehlo.pad %arg0, %arg1, low = [1, -1], high = [0, 2], interior = [1, 0] : (tensor<4x3xf64>, tensor<f64>) -> tensor<8x4xf64>
  %4 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<4x3xf64>) -> tensor<4x2x3xf64>
  %5 = stablehlo.reverse %4, dims = [0, 2] : tensor<4x2x3xf64>
  %6 = stablehlo.multiply %4, %5 : tensor<4x2x3xf64>
  return %0, %1, %2, %3, %6 : tensor<3x4xf64>, tensor<2x6xf64>, tensor<2x2xf64>, tensor<8x4xf64>, tensor<4x2x3xf64>
}",
    );
    check_all(
        "func.func @main(%arg0: tensor<4x3xf64>, %arg1: tensor<1x3xf64>) -> (tensor<5x3xf64>, tensor<2x3x1xf64>) {
  %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<4x3xf64>, tensor<1x3xf64>) -> tensor<5x3xf64>
  %1 = stablehlo.broadcast_in_dim %arg1, dims = [2, 1] : (tensor<1x3xf64>) -> tensor<2x3x1xf64>
  return %0, %1 : tensor<5x3xf64>, tensor<2x3x1xf64>
}",
    );
}

#[test]
fn products_and_sums() {
    check_all(
        "func.func @main(%arg0: tensor<2x3x4x5xf64>, %arg1: tensor<5x2x6x4xf64>) -> tensor<2x3x6xf64> {
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [1], contracting_dims = [2, 3] x [3, 0] : (tensor<2x3x4x5xf64>, tensor<5x2x6x4xf64>) -> tensor<2x3x6xf64>
  return %0 : tensor<2x3x6xf64>
}",
    );
    for kind in ["add", "maximum", "minimum"] {
        let init = if kind == "add" {
            "0.0"
        } else if kind == "maximum" {
            "0xFFF0000000000000"
        } else {
            "0x7FF0000000000000"
        };
        check_all(&format!(
            "func.func @main(%arg0: tensor<3x4x2xf64>) -> tensor<4xf64> {{
  %c = stablehlo.constant dense<{init}> : tensor<f64>
  %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.{kind} across dimensions = [0, 2] : (tensor<3x4x2xf64>, tensor<f64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}}"
        ));
    }
}

const LOOP: &str = "func.func @main(%arg0: tensor<3xf64>, %arg1: tensor<3x3xf64>, %arg2: tensor<5x3xf64>) -> (tensor<3xf64>, tensor<5x3xf64>) {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<5x3xf64>
  %0:4 = stablehlo.while(%k = %i, %h = %arg0, %w = %arg1, %ys = %zeros) : tensor<i32>, tensor<3xf64>, tensor<3x3xf64>, tensor<5x3xf64>
  cond {
    %n = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %row = stablehlo.dynamic_slice %arg2, %k, %z, sizes = [1, 3] : (tensor<5x3xf64>, tensor<i32>, tensor<i32>) -> tensor<1x3xf64>
    %x = stablehlo.reshape %row : (tensor<1x3xf64>) -> tensor<3xf64>
    %1 = stablehlo.dot_general %w, %h, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %2 = stablehlo.add %1, %x : tensor<3xf64>
    %3 = stablehlo.tanh %2 : tensor<3xf64>
    %y = stablehlo.multiply %3, %h : tensor<3xf64>
    %4 = stablehlo.reshape %y : (tensor<3xf64>) -> tensor<1x3xf64>
    %5 = stablehlo.dynamic_update_slice %ys, %4, %k, %z : (tensor<5x3xf64>, tensor<1x3xf64>, tensor<i32>, tensor<i32>) -> tensor<5x3xf64>
    %6 = stablehlo.add %k, %c : tensor<i32>
    stablehlo.return %6, %3, %w, %5 : tensor<i32>, tensor<3xf64>, tensor<3x3xf64>, tensor<5x3xf64>
  }
  return %0#1, %0#3 : tensor<3xf64>, tensor<5x3xf64>
}";

#[test]
fn a_loop() {
    check(LOOP);
}

#[test]
fn loops_in_loops_and_branches() {
    check(
        "func.func @main(%arg0: tensor<2xf64>, %arg1: tensor<2xf64>) -> tensor<2xf64> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%k = %i, %h = %arg0) : tensor<i32>, tensor<2xf64>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %1:2 = stablehlo.while(%j = %i, %g = %h) : tensor<i32>, tensor<2xf64>
    cond {
      %n = stablehlo.constant dense<2> : tensor<i32>
      %2 = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.multiply %g, %arg1 : tensor<2xf64>
      %3 = stablehlo.sine %2 : tensor<2xf64>
      %4 = stablehlo.add %j, %c : tensor<i32>
      stablehlo.return %4, %3 : tensor<i32>, tensor<2xf64>
    }
    %5 = \"stablehlo.case\"(%k) ({
      %6 = stablehlo.multiply %1#1, %arg1 : tensor<2xf64>
      %7 = stablehlo.exponential %6 : tensor<2xf64>
      stablehlo.return %7 : tensor<2xf64>
    }, {
      %6 = stablehlo.cosine %h : tensor<2xf64>
      stablehlo.return %6 : tensor<2xf64>
    }) : (tensor<i32>) -> tensor<2xf64>
    %8 = stablehlo.add %k, %c : tensor<i32>
    stablehlo.return %8, %5 : tensor<i32>, tensor<2xf64>
  }
  return %0#1 : tensor<2xf64>
}",
    );
}

/// Returns a loop of so many turns, each of which applies an op to `%h`.
fn loop_of(turns: u64, op: &str) -> String {
    format!(
        "func.func @main(%arg0: tensor<2xf64>) -> tensor<2xf64> {{
  %i = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.while(%k = %i, %h = %arg0) : tensor<i64>, tensor<2xf64>
  cond {{
    %n = stablehlo.constant dense<{turns}> : tensor<i64>
    %1 = stablehlo.compare LT, %k, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %c = stablehlo.constant dense<1> : tensor<i64>
    %1 = {op} : tensor<2xf64>
    %2 = stablehlo.add %k, %c : tensor<i64>
    stablehlo.return %2, %1 : tensor<i64>, tensor<2xf64>
  }}
  return %0#1 : tensor<2xf64>
}}"
    )
}

#[test]
fn loops_of_more_turns_than_an_i32_counts() {
    for op in ["stablehlo.add %h, %h", "stablehlo.sine %h"] {
        let module = parse(&loop_of(3_000_000_000, op));
        let main = module.main().unwrap();
        for made in [vjp(&module, main, &[0]), linearize(&module, main, &[0])] {
            let text = printed(&with_main(&module, made.unwrap()));
            // The limits of the known and of the linear loop.
            assert_eq!(text.matches("dense<3000000000> : tensor<i64>").count(), 2, "{text}");
        }
    }
}

#[test]
fn loops_without_turns() {
    let source = loop_of(0, "stablehlo.sine %h");
    check(&source);
    let module = parse(&source);
    let main = module.main().unwrap();
    let args = [numbers(&module, 0), numbers(&module, 1)].concat();
    let values = |func| run(&with_main(&module, func), &args);
    assert_eq!(values(linearize(&module, main, &[0]).unwrap()), values(jvp(&module, main, &[0]).unwrap()));
}

#[test]
fn derivatives_of_derivatives() {
    let module = parse(
        "func.func @main(%arg0: tensor<3xf64>) -> tensor<f64> {
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = stablehlo.sine %arg0 : tensor<3xf64>
  %1 = stablehlo.multiply %0, %arg0 : tensor<3xf64>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
  return %2 : tensor<f64>
}",
    );
    let first = with_main(&module, vjp(&module, module.main().unwrap(), &[0]).unwrap());
    check(&printed(&first));
    let second = with_main(&first, vjp(&first, first.main().unwrap(), &[0, 1]).unwrap());
    check(&printed(&second));
    let lane = parse(LOOP);
    let back = with_main(&lane, vjp(&lane, lane.main().unwrap(), &[0, 1, 2]).unwrap());
    check(&printed(&back));
}

/// Indices that are computed from numbers, so that a batch has different ones.
const INDICES: &str = "
  %three = stablehlo.constant dense<3.0> : tensor<4x1xf64>
  %scaled = stablehlo.multiply %arg1, %three : tensor<4x1xf64>
  %indices = stablehlo.convert %scaled : (tensor<4x1xf64>) -> tensor<4x1xi32>";

#[test]
fn gathers() {
    check_all(&format!(
        "func.func @main(%arg0: tensor<4x3xf64>, %arg1: tensor<4x1xf64>) -> tensor<4x3xf64> {{{INDICES}
  %0 = \"stablehlo.gather\"(%arg0, %indices) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}}> : (tensor<4x3xf64>, tensor<4x1xi32>) -> tensor<4x3xf64>
  %1 = stablehlo.multiply %0, %arg0 : tensor<4x3xf64>
  return %1 : tensor<4x3xf64>
}}"
    ));
}

/// Returns a program that scatters four rows to the three rows of an array. `indices` are the lines that define
/// `%indices`, and `combine` those that combine `%a` and `%b` and return the result.
fn scatter(combine: &str, indices: &str, is_unique: bool) -> String {
    format!(
        "func.func @main(%arg0: tensor<3x2xf64>, %arg1: tensor<4x1xf64>, %arg2: tensor<4x2xf64>) -> tensor<3x2xf64> {{{indices}
  %0 = \"stablehlo.scatter\"(%arg0, %indices, %arg2) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = {is_unique}}}> ({{
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    {combine}
  }}) : (tensor<3x2xf64>, tensor<4x1xi32>, tensor<4x2xf64>) -> tensor<3x2xf64>
  %1 = stablehlo.multiply %0, %arg0 : tensor<3x2xf64>
  return %1 : tensor<3x2xf64>
}}"
    )
}

#[test]
fn scatters() {
    check_all(&scatter("stablehlo.return %b : tensor<f64>", INDICES, false));
    let combine = |op: &str| format!("%c = stablehlo.{op} %a, %b : tensor<f64>\n    stablehlo.return %c : tensor<f64>");
    for op in ["add", "subtract", "maximum", "minimum"] {
        check_all(&scatter(&combine(op), INDICES, false));
    }
    let indices = "\n  %indices = stablehlo.constant dense<[[2], [0], [9], [-1]]> : tensor<4x1xi32>";
    check_all(&scatter(&combine("multiply"), indices, true));
    check_all(&scatter("stablehlo.return %b : tensor<f64>", indices, true));
}

#[test]
fn products_without_unique_indices_have_no_derivative() {
    let combine = "%c = stablehlo.multiply %a, %b : tensor<f64>\n    stablehlo.return %c : tensor<f64>";
    let module = parse(&scatter(combine, INDICES, false));
    let found = jvp(&module, module.main().unwrap(), &[0, 2]).unwrap_err().to_string();
    assert!(found.contains("unique_indices"), "{found}");
    assert!(vjp(&module, module.main().unwrap(), &[0]).is_ok());
}

#[test]
fn blocks_at_computed_positions() {
    check_all(
        "func.func @main(%arg0: tensor<4x3xf64>, %arg1: tensor<f64>, %arg2: tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<4x3xf64>) {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3.0> : tensor<f64>
  %scaled = stablehlo.multiply %arg1, %three : tensor<f64>
  %i = stablehlo.convert %scaled : (tensor<f64>) -> tensor<i32>
  %0 = stablehlo.dynamic_slice %arg0, %i, %c, sizes = [2, 2] : (tensor<4x3xf64>, tensor<i32>, tensor<i32>) -> tensor<2x2xf64>
  %1 = stablehlo.multiply %0, %arg2 : tensor<2x2xf64>
  %2 = stablehlo.dynamic_update_slice %arg0, %1, %c, %i : (tensor<4x3xf64>, tensor<2x2xf64>, tensor<i32>, tensor<i32>) -> tensor<4x3xf64>
  return %1, %2 : tensor<2x2xf64>, tensor<4x3xf64>
}",
    );
}

#[test]
fn sorted_arrays() {
    check_all(
        "func.func @main(%arg0: tensor<4x3xf64>, %arg1: tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x2xf64>) {
  %0:2 = \"stablehlo.sort\"(%arg0, %arg1) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>, %d: tensor<f64>):
    %1 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x3xf64>, tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<4x3xf64>)
  %2 = stablehlo.multiply %0#0, %0#1 : tensor<4x3xf64>
  %3:2 = chlo.top_k(%2, k = 2) : tensor<4x3xf64> -> (tensor<4x2xf64>, tensor<4x2xi32>)
  return %2, %0#1, %3#0 : tensor<4x3xf64>, tensor<4x3xf64>, tensor<4x2xf64>
}",
    );
}

/// Returns a program that reduces windows of an array with the op `kind` twice: first windows with strides and padding,
/// then, for each element, the window of all elements of its row up to this one.
fn in_windows(kind: &str, init: &str) -> String {
    let window = |attrs: &str, to: &str| {
        format!(
            "\"stablehlo.reduce_window\"(%x, %c) <{{{attrs}}}> ({{
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %d = stablehlo.{kind} %a, %b : tensor<f64>
    stablehlo.return %d : tensor<f64>
  }}) : (tensor<4x5xf64>, tensor<f64>) -> {to}"
        )
    };
    let strided = "window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 1>, padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>";
    let cumulative = "window_dimensions = array<i64: 1, 5>, padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>";
    format!(
        "func.func @main(%arg0: tensor<4x5xf64>) -> (tensor<3x4xf64>, tensor<4x5xf64>) {{
  %c = stablehlo.constant dense<{init}> : tensor<f64>
  %x = stablehlo.sine %arg0 : tensor<4x5xf64>
  %0 = {}
  %1 = {}
  return %0, %1 : tensor<3x4xf64>, tensor<4x5xf64>
}}",
        window(strided, "tensor<3x4xf64>"),
        window(cumulative, "tensor<4x5xf64>")
    )
}

#[test]
fn windows() {
    for (kind, init) in
        [("add", "0.0"), ("multiply", "1.0"), ("maximum", "0xFFF0000000000000"), ("minimum", "0x7FF0000000000000")]
    {
        let source = in_windows(kind, init);
        check_all(&source);
        let module = parse(&source);
        let back = with_main(&module, vjp(&module, module.main().unwrap(), &[0]).unwrap());
        check(&printed(&back));
    }
}

/// Checks windows of all elements up to each one, and from each one on, of lines that are not short. One element is 0.
#[test]
fn running_windows_of_many_elements() {
    for (kind, init) in [("multiply", "1.0"), ("maximum", "0xFFF0000000000000"), ("minimum", "0x7FF0000000000000")] {
        for padding in ["[[18, 0], [0, 0]]", "[[0, 18], [0, 0]]"] {
            let source = format!(
                "func.func @main(%arg0: tensor<19x2xf64>) -> tensor<19x2xf64> {{
  %c = stablehlo.constant dense<{init}> : tensor<f64>
  %a = stablehlo.constant dense<0.0> : tensor<f64>
  %b = stablehlo.slice %arg0 [0:18, 0:2] : (tensor<19x2xf64>) -> tensor<18x2xf64>
  %x = stablehlo.pad %b, %a, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<18x2xf64>, tensor<f64>) -> tensor<19x2xf64>
  %0 = \"stablehlo.reduce_window\"(%x, %c) <{{window_dimensions = array<i64: 19, 1>, padding = dense<{padding}> : tensor<2x2xi64>}}> ({{
  ^bb0(%e: tensor<f64>, %f: tensor<f64>):
    %d = stablehlo.{kind} %e, %f : tensor<f64>
    stablehlo.return %d : tensor<f64>
  }}) : (tensor<19x2xf64>, tensor<f64>) -> tensor<19x2xf64>
  return %0 : tensor<19x2xf64>
}}"
            );
            check_all(&source);
            let module = parse(&source);
            let forward = printed(&with_main(&module, jvp(&module, module.main().unwrap(), &[0]).unwrap()));
            assert_eq!(forward.matches("reduce_window").count(), 1, "{forward}");
        }
    }
}

#[test]
fn an_extremum_of_no_elements_is_constant() {
    for (kind, init) in [("maximum", "0xFFF0000000000000"), ("minimum", "0x7FF0000000000000")] {
        let module = parse(&format!(
            "func.func @main(%arg0: tensor<2x0xf64>) -> tensor<2xf64> {{
  %c = stablehlo.constant dense<{init}> : tensor<f64>
  %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.{kind} across dimensions = [1] : (tensor<2x0xf64>, tensor<f64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}}"
        ));
        let forward = with_main(&module, jvp(&module, module.main().unwrap(), &[0]).unwrap());
        let results = run(&forward, &[numbers(&module, 0), numbers(&module, 1)].concat());
        assert_eq!(values(&results[1]), [0.0, 0.0], "{kind}");
    }
}

#[test]
fn factors_of_a_product() {
    check_all(
        "func.func @main(%arg0: tensor<3x4x2xf64>) -> tensor<4xf64> {
  %c = stablehlo.constant dense<1.0> : tensor<f64>
  %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.multiply across dimensions = [0, 2] : (tensor<3x4x2xf64>, tensor<f64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}",
    );
}

#[test]
fn selected_elements_of_windows() {
    check_all(
        "func.func @main(%arg0: tensor<4x5xf64>, %arg1: tensor<2x5xf64>) -> tensor<4x5xf64> {
  %c = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = \"stablehlo.select_and_scatter\"(%arg0, %arg1, %c) <{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>, padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %1 : tensor<f64>
  }) : (tensor<4x5xf64>, tensor<2x5xf64>, tensor<f64>) -> tensor<4x5xf64>
  %2 = stablehlo.multiply %0, %arg0 : tensor<4x5xf64>
  return %2 : tensor<4x5xf64>
}",
    );
}

#[test]
fn positions_of_maxima() {
    check_all(
        "func.func @main(%arg0: tensor<4x3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %low = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %positions = stablehlo.iota dim = 0 : tensor<4x3xi32>
  %0:2 = stablehlo.reduce(%arg0 init: %low), (%positions init: %zero) across dimensions = [0] : (tensor<4x3xf64>, tensor<4x3xi32>, tensor<f64>, tensor<i32>) -> (tensor<3xf64>, tensor<3xi32>)
   reducer(%a: tensor<f64>, %b: tensor<f64>) (%i: tensor<i32>, %j: tensor<i32>) {
    %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f64>
    %3 = stablehlo.select %1, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<f64>, tensor<i32>
  }
  %4 = stablehlo.convert %0#1 : (tensor<3xi32>) -> tensor<3xf64>
  return %0#0, %4 : tensor<3xf64>, tensor<3xf64>
}",
    );
}

/// Tests selections whose initial values are larger than some of the columns' elements, one of them at the position of
/// an element, and a selection from no elements.
#[test]
fn initial_values_that_are_selected() {
    for (rows, position, arg) in [(4, 0, true), (4, -1, true), (4, 2, false), (4, 9, false), (0, 0, true)] {
        let (arg, init) = match arg {
            true => (", %init: tensor<f64>", ""),
            false => ("", "%init = stablehlo.constant dense<1.1> : tensor<f64>"),
        };
        check_all(&format!(
            "func.func @main(%arg0: tensor<{rows}x3xf64>{arg}) -> (tensor<3xf64>, tensor<3xf64>) {{
  {init}
  %raised = stablehlo.constant dense<0.4> : tensor<f64>
  %first = stablehlo.add %init, %raised : tensor<f64>
  %position = stablehlo.constant dense<{position}> : tensor<i32>
  %positions = stablehlo.iota dim = 0 : tensor<{rows}x3xi32>
  %0:2 = stablehlo.reduce(%arg0 init: %first), (%positions init: %position) across dimensions = [0] : (tensor<{rows}x3xf64>, tensor<{rows}x3xi32>, tensor<f64>, tensor<i32>) -> (tensor<3xf64>, tensor<3xi32>)
   reducer(%a: tensor<f64>, %b: tensor<f64>) (%i: tensor<i32>, %j: tensor<i32>) {{
    %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f64>
    %3 = stablehlo.select %1, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<f64>, tensor<i32>
  }}
  %4 = stablehlo.convert %0#1 : (tensor<3xi32>) -> tensor<3xf64>
  return %0#0, %4 : tensor<3xf64>, tensor<3xf64>
}}"
        ));
    }
}

/// Tests a reduction that looks like one that finds the position of an element: each result is selected from its own
/// pair, but by a predicate of its own.
#[test]
fn values_and_indices_that_are_selected_apart() {
    check_all(
        "func.func @main(%arg0: tensor<4x3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %low = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %most = stablehlo.constant dense<4> : tensor<i32>
  %positions = stablehlo.iota dim = 0 : tensor<4x3xi32>
  %0:2 = stablehlo.reduce(%arg0 init: %low), (%positions init: %most) across dimensions = [0] : (tensor<4x3xf64>, tensor<4x3xi32>, tensor<f64>, tensor<i32>) -> (tensor<3xf64>, tensor<3xi32>)
   reducer(%a: tensor<f64>, %b: tensor<f64>) (%i: tensor<i32>, %j: tensor<i32>) {
    %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %2 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f64>
    %4 = stablehlo.select %2, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %3, %4 : tensor<f64>, tensor<i32>
  }
  %5 = stablehlo.convert %0#1 : (tensor<3xi32>) -> tensor<3xf64>
  return %0#0, %5 : tensor<3xf64>, tensor<3xf64>
}",
    );
}

/// Tests amounts of padding that are near the ends of 64 bits, and whose sum is beyond them.
#[test]
fn very_large_padding() {
    let half = 1i64 << 62;
    for (low, high, interior, from, to) in [
        (i64::MIN, i64::MIN, half, 5, 5),
        (-half, -half, half, 3, 3),
        (0, i64::MIN + 3, half, 3, 6),
        (i64::MIN + 1, 2, half, 3, 6),
        (-half, -half, i64::MAX, 2, 1),
        (i64::MIN, i64::MAX, 0, 4, 3),
        (i64::MAX, i64::MIN, 0, 4, 3),
    ] {
        check_all(&format!(
            "func.func @main(%arg0: tensor<{from}xf64>, %arg1: tensor<f64>) -> tensor<{to}xf64> {{
  %0 = stablehlo.pad %arg0, %arg1, low = [{low}], high = [{high}], interior = [{interior}] : (tensor<{from}xf64>, tensor<f64>) -> tensor<{to}xf64>
  return %0 : tensor<{to}xf64>
}}"
        ));
    }
}

/// Returns a program with one convolution of `[4, 7, 6, i]` and `[3, 2, k, o]`. `features` are `i`, `k` and `o`, and
/// `counts` are the numbers of feature groups and batch groups. `result` is the shape of the result.
fn convolution(window: &str, features: [usize; 3], counts: [usize; 2], result: &str) -> String {
    let [input, kernel, output] = features;
    let [feature_groups, batch_groups] = counts;
    format!(
        "func.func @main(%arg0: tensor<4x7x6x{input}xf64>, %arg1: tensor<3x2x{kernel}x{output}xf64>) -> tensor<{result}xf64> {{
  %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{{window}}} {{batch_group_count = {batch_groups} : i64, feature_group_count = {feature_groups} : i64}} : (tensor<4x7x6x{input}xf64>, tensor<3x2x{kernel}x{output}xf64>) -> tensor<{result}xf64>
  return %0 : tensor<{result}xf64>
}}"
    )
}

#[test]
fn convolutions() {
    let plain =
        "stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]";
    check_all(&convolution(plain, [2, 2, 3], [1, 1], "4x5x5x3"));
    let strided =
        "stride = [2, 3], pad = [[1, 2], [-1, 1]], lhs_dilate = [1, 1], rhs_dilate = [2, 1], reverse = [true, false]";
    check_all(&convolution(strided, [2, 2, 3], [1, 1], "4x3x2x3"));
    let dilated =
        "stride = [2, 1], pad = [[0, 1], [1, 0]], lhs_dilate = [2, 3], rhs_dilate = [1, 2], reverse = [false, true]";
    check_all(&convolution(dilated, [4, 2, 6], [2, 1], "4x6x15x6"));
    check_all(&convolution(plain, [3, 3, 4], [1, 2], "2x5x5x4"));
}

#[test]
fn cholesky_factors() {
    for is_lower in [true, false] {
        check_all(&format!(
            "func.func @main(%arg0: tensor<3x3xf64>) -> tensor<3x3xf64> {{
  %0 = stablehlo.constant dense<[[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]]> : tensor<3x3xf64>
  %1 = stablehlo.add %arg0, %0 : tensor<3x3xf64>
  %2 = stablehlo.cholesky %1, lower = {is_lower} : tensor<3x3xf64>
  return %2 : tensor<3x3xf64>
}}"
        ));
    }
}

#[test]
fn triangular_systems() {
    for (side, shape) in [(true, "3x2"), (false, "2x3")] {
        for (is_lower, is_unit) in [(true, false), (false, false), (true, true), (false, true)] {
            for form in ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"] {
                check_all(&format!(
                    "func.func @main(%arg0: tensor<3x3xf64>, %arg1: tensor<{shape}xf64>) -> tensor<{shape}xf64> {{
  %0 = \"stablehlo.triangular_solve\"(%arg0, %arg1) <{{left_side = {side}, lower = {is_lower}, transpose_a = \
                     #stablehlo<transpose {form}>, unit_diagonal = {is_unit}}}> : (tensor<3x3xf64>, \
                     tensor<{shape}xf64>) -> tensor<{shape}xf64>
  return %0 : tensor<{shape}xf64>
}}"
                ));
            }
        }
    }
}

/// Returns the program of a transform of this kind over the last two dimensions, from an operand of the shape `from` to
/// a result of the shape `to`.
fn fourier(kind: &str, from: &str, to: &str, lengths: &str) -> String {
    let complex = "complex<f64>";
    let (enter, operand) = match kind {
        "RFFT" => ("stablehlo.add %arg0, %arg1".to_owned(), "f64"),
        _ => ("stablehlo.complex %arg0, %arg1".to_owned(), complex),
    };
    let types = if operand == "f64" { format!("tensor<{from}xf64>") } else { format!("tensor<{from}x{complex}>") };
    let transform = format!("%1 = stablehlo.fft %0, type = {kind}, length = {lengths} : ({types})");
    if kind == "IRFFT" {
        return format!(
            "func.func @main(%arg0: tensor<{from}xf64>, %arg1: tensor<{from}xf64>) -> tensor<{to}xf64> {{
  %0 = {enter} : {types}
  {transform} -> tensor<{to}xf64>
  return %1 : tensor<{to}xf64>
}}"
        );
    }
    format!(
        "func.func @main(%arg0: tensor<{from}xf64>, %arg1: tensor<{from}xf64>) -> (tensor<{to}xf64>, tensor<{to}xf64>) {{
  %0 = {enter} : {types}
  {transform} -> tensor<{to}x{complex}>
  %2 = stablehlo.real %1 : (tensor<{to}x{complex}>) -> tensor<{to}xf64>
  %3 = stablehlo.imag %1 : (tensor<{to}x{complex}>) -> tensor<{to}xf64>
  return %2, %3 : tensor<{to}xf64>, tensor<{to}xf64>
}}"
    )
}

#[test]
fn fourier_transforms() {
    check_all(&fourier("FFT", "2x3x4", "2x3x4", "[3, 4]"));
    check_all(&fourier("IFFT", "2x3x4", "2x3x4", "[3, 4]"));
    for (half, whole, lengths) in
        [("2x3x3", "2x3x4", "[3, 4]"), ("2x3x3", "2x3x5", "[3, 5]"), ("2x3x1", "2x3x1", "[3, 1]")]
    {
        check_all(&fourier("RFFT", whole, half, lengths));
        check_all(&fourier("IRFFT", half, whole, lengths));
    }
}

/// The largest allowed difference of a number of a batch that computes in another order, as a part of one plus the
/// absolute value of the expected number.
const REORDERED: f64 = 1e-12;

/// A region that combines two numbers by the logarithm of the sum of their exponentials.
const SOFT_MAXIMUM: &str = "({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %m = stablehlo.maximum %a, %b : tensor<f64>
    %d = stablehlo.subtract %a, %b : tensor<f64>
    %s = stablehlo.abs %d : tensor<f64>
    %n = stablehlo.negate %s : tensor<f64>
    %e = stablehlo.exponential %n : tensor<f64>
    %l = stablehlo.log_plus_one %e : tensor<f64>
    %r = stablehlo.add %m, %l : tensor<f64>
    stablehlo.return %r : tensor<f64>
  })";

#[test]
fn reductions_by_any_function_and_with_any_initial_value() {
    for op in ["add", "multiply", "maximum", "minimum"] {
        check_all_within(
            &format!(
                "func.func @main(%arg0: tensor<3x2x4xf64>, %arg1: tensor<f64>) -> tensor<2xf64> {{
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.{op} across dimensions = [2, 0] : (tensor<3x2x4xf64>, tensor<f64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}}"
            ),
            REORDERED,
        );
    }
    check_all_within(
        &format!(
            "func.func @main(%arg0: tensor<3x5xf64>, %arg1: tensor<f64>) -> tensor<3xf64> {{
  %0 = \"stablehlo.reduce\"(%arg0, %arg1) <{{dimensions = array<i64: 1>}}> {SOFT_MAXIMUM} : (tensor<3x5xf64>, tensor<f64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}}"
        ),
        REORDERED,
    );
}

#[test]
fn affine_functions_are_composed_by_a_reduction() {
    check_all_within(
        "func.func @main(%arg0: tensor<2x5xf64>, %arg1: tensor<2x5xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0:2 = \"stablehlo.reduce\"(%arg0, %arg1, %one, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<f64>, %d: tensor<f64>):
    %m = stablehlo.multiply %a, %c : tensor<f64>
    %n = stablehlo.multiply %b, %c : tensor<f64>
    %s = stablehlo.add %n, %d : tensor<f64>
    stablehlo.return %m, %s : tensor<f64>, tensor<f64>
  }) : (tensor<2x5xf64>, tensor<2x5xf64>, tensor<f64>, tensor<f64>) -> (tensor<2xf64>, tensor<2xf64>)
  return %0#0, %0#1 : tensor<2xf64>, tensor<2xf64>
}",
        REORDERED,
    );
}

#[test]
fn windows_by_any_function_and_with_any_initial_value() {
    let window = "window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 2, 1>, padding = dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>";
    let combine = |op: &str| {
        format!(
            "({{\n  ^bb0(%a: tensor<f64>, %b: tensor<f64>):\n    %r = stablehlo.{op} %a, %b : tensor<f64>\n    stablehlo.return %r : tensor<f64>\n  }})"
        )
    };
    let regions = [combine("add"), combine("multiply"), combine("maximum"), SOFT_MAXIMUM.to_owned()];
    for region in regions {
        check_all_within(
            &format!(
                "func.func @main(%arg0: tensor<3x4xf64>, %arg1: tensor<f64>) -> tensor<5x2xf64> {{
  %0 = \"stablehlo.reduce_window\"(%arg0, %arg1) <{{{window}}}> {region} : (tensor<3x4xf64>, tensor<f64>) -> tensor<5x2xf64>
  return %0 : tensor<5x2xf64>
}}"
            ),
            REORDERED,
        );
    }
}

#[test]
fn a_function_of_each_element() {
    check_all(
        "func.func @main(%arg0: tensor<3x2xf64>, %arg1: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = \"stablehlo.map\"(%arg0, %arg1) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %half = stablehlo.constant dense<0.53> : tensor<f64>
    %p = stablehlo.compare GT, %a, %half : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %m = stablehlo.multiply %a, %b : tensor<f64>
    %s = stablehlo.sine %b : tensor<f64>
    %r = stablehlo.select %p, %m, %s : tensor<i1>, tensor<f64>
    stablehlo.return %r : tensor<f64>
  }) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}",
    );
}

#[test]
fn scans_along_a_dimension() {
    for direction in ["", " attributes {is_reverse = true}"] {
        check_all(&format!(
            "func.func @main(%arg0: tensor<2x4xf64>, %arg1: tensor<2xf64>) -> (tensor<2x4xf64>, tensor<2xf64>) {{
  %0:2 = chlo.scan(%arg0) inits(%arg1) dimension=1{direction} {{
  ^bb0(%x: tensor<2xf64>, %c: tensor<2xf64>):
    %s = stablehlo.sine %c : tensor<2xf64>
    %m = stablehlo.multiply %s, %x : tensor<2xf64>
    %n = stablehlo.add %m, %c : tensor<2xf64>
    stablehlo.return %m, %n : tensor<2xf64>, tensor<2xf64>
  }} : (tensor<2x4xf64>, tensor<2xf64>) -> (tensor<2x4xf64>, tensor<2xf64>)
  return %0#0, %0#1 : tensor<2x4xf64>, tensor<2xf64>
}}"
        ));
    }
}

#[test]
fn batch_normalizations() {
    let (x, f) = ("tensor<2x3x2xf64>", "tensor<3xf64>");
    let attrs = "<{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}>";
    check_all_within(
        &format!(
            "func.func @main(%arg0: {x}, %arg1: {f}, %arg2: {f}, %arg3: {f}, %arg4: {f}) -> {x} {{
  %0 = \"stablehlo.batch_norm_inference\"(%arg0, %arg1, %arg2, %arg3, %arg4) {attrs} : ({x}, {f}, {f}, {f}, {f}) -> {x}
  return %0 : {x}
}}"
        ),
        REORDERED,
    );
    check_all_within(
        &format!(
            "func.func @main(%arg0: {x}, %arg1: {f}, %arg2: {f}) -> ({x}, {f}, {f}) {{
  %0:3 = \"stablehlo.batch_norm_training\"(%arg0, %arg1, %arg2) {attrs} : ({x}, {f}, {f}) -> ({x}, {f}, {f})
  return %0#0, %0#1, %0#2 : {x}, {f}, {f}
}}"
        ),
        REORDERED,
    );
    check_all_within(
        &format!(
            "func.func @main(%arg0: {x}, %arg1: {f}, %arg2: {f}, %arg3: {f}, %arg4: {x}) -> ({x}, {f}, {f}) {{
  %0:3 = \"stablehlo.batch_norm_grad\"(%arg0, %arg1, %arg2, %arg3, %arg4) {attrs} : ({x}, {f}, {f}, {f}, {x}) -> ({x}, {f}, {f})
  return %0#0, %0#1, %0#2 : {x}, {f}, {f}
}}"
        ),
        REORDERED,
    );
}

/// Returns a program with one ragged dot of the shapes `x` and `y` and the constant `sizes`. `dims` are the batching
/// dimensions of both operands, their contracting dimensions, and the ragged and the group dimension.
fn ragged_dot(x: &str, y: &str, sizes: &str, result: &str, dims: [&str; 6]) -> String {
    let [xb, yb, xc, yc, ragged, group] = dims;
    let count = sizes.matches('[').count();
    let shape = if count == 1 { "3" } else { "2x3" };
    format!(
        "func.func @main(%arg0: tensor<{x}xf64>, %arg1: tensor<{y}xf64>) -> tensor<{result}xf64> {{
  %sizes = stablehlo.constant dense<{sizes}> : tensor<{shape}xi32>
  %0 = \"chlo.ragged_dot\"(%arg0, %arg1, %sizes) <{{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [{xb}], rhs_batching_dimensions = [{yb}], lhs_contracting_dimensions = [{xc}], rhs_contracting_dimensions = [{yc}], lhs_ragged_dimensions = [{ragged}], rhs_group_dimensions = [{group}]>}}> : (tensor<{x}xf64>, tensor<{y}xf64>, tensor<{shape}xi32>) -> tensor<{result}xf64>
  return %0 : tensor<{result}xf64>
}}"
    )
}

#[test]
fn dots_of_groups() {
    // The ragged dimension is free.
    check_all(&ragged_dot("6x4", "3x4x2", "[1, 2, 2]", "6x2", ["", "", "1", "1", "0", "0"]));
    check_all(&ragged_dot("4x6", "2x3x4", "[0, 6, 0]", "6x2", ["", "", "0", "2", "1", "1"]));
    check_all(&ragged_dot("5x2x4", "4x3x2x3", "[1, 3, 1]", "2x5x3", ["1", "2", "2", "0", "0", "1"]));
    check_all(&ragged_dot("2x5x4", "2x3x4x3", "[[1, 3, 1], [2, 0, 2]]", "2x5x3", ["0", "0", "2", "2", "1", "1"]));
    // It is contracted.
    check_all(&ragged_dot("6x4", "6x2", "[1, 2, 3]", "3x4x2", ["", "", "0", "0", "0", ""]));
    check_all(&ragged_dot("2x4x5", "3x5x2", "[2, 1, 1]", "3x2x4x3", ["0", "2", "2", "1", "2", ""]));
    // It is a batch.
    check_all(&ragged_dot("5x4x2", "5x2x3", "[2, 1, 1]", "5x4x3", ["0", "0", "2", "1", "0", ""]));
}

#[test]
fn ops_whose_sizes_are_constants() {
    check_all(
        "func.func @main(%arg0: tensor<2xf64>) -> tensor<6xf64> {
  %c = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %d = stablehlo.constant dense<[6]> : tensor<1xi32>
  %0 = stablehlo.dynamic_broadcast_in_dim %arg0, %c, dims = [1] : (tensor<2xf64>, tensor<2xi32>) -> tensor<3x2xf64>
  %1 = stablehlo.multiply %0, %0 : tensor<3x2xf64>
  %2 = stablehlo.dynamic_reshape %1, %d : (tensor<3x2xf64>, tensor<1xi32>) -> tensor<6xf64>
  return %2 : tensor<6xf64>
}",
    );
    check_all(
        "func.func @main(%arg0: tensor<2xf64>, %arg1: tensor<f64>) -> tensor<2xf64> {
  %c = stablehlo.constant dense<1> : tensor<1xi32>
  %d = stablehlo.constant dense<5> : tensor<1xi32>
  %s = stablehlo.constant dense<2> : tensor<1xi32>
  %0 = stablehlo.dynamic_pad %arg0, %arg1, %c, %c, %c : (tensor<2xf64>, tensor<f64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xf64>
  %1 = stablehlo.multiply %0, %0 : tensor<5xf64>
  %2 = stablehlo.real_dynamic_slice %1, %c, %d, %s : (tensor<5xf64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xf64>
  return %2 : tensor<2xf64>
}",
    );
    check_all(
        "func.func @main(%arg0: tensor<6x4xf64>) -> tensor<3x4xf64> {
  %c = stablehlo.constant dense<[1, 4]> : tensor<2xi32>
  %i = stablehlo.constant dense<[2, 0, 2]> : tensor<3xi32>
  %0 = \"stablehlo.dynamic_gather\"(%arg0, %i, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<6x4xf64>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x4xf64>
  return %0 : tensor<3x4xf64>
}",
    );
    check_all(
        "func.func @main(%arg0: tensor<1x4x1xf64>, %arg1: tensor<3x1x1xf64>) -> tensor<1x4x1xf64> {
  %c = stablehlo.constant dense<1> : tensor<1x2xi32>
  %0 = \"stablehlo.dynamic_conv\"(%arg0, %arg1, %c) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<1x4x1xf64>, tensor<3x1x1xf64>, tensor<1x2xi32>) -> tensor<1x4x1xf64>
  return %0 : tensor<1x4x1xf64>
}",
    );
}

#[test]
fn sizes_that_are_no_constants_are_refused() {
    let module = parse(
        "func.func @main(%arg0: tensor<6xf64>, %arg1: tensor<2xi32>) -> tensor<3x2xf64> {
  %0 = stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<6xf64>, tensor<2xi32>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}",
    );
    let found = jvp(&module, module.main().unwrap(), &[0]).unwrap_err().to_string();
    assert!(found.contains("its sizes are operands, and not constants"), "{found}");
}

#[test]
fn a_tuple_has_no_derivative() {
    let module = parse(
        "func.func @main(%x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.tuple %x, %x : tuple<tensor<f64>, tensor<f64>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<f64>, tensor<f64>>) -> tensor<f64>
  return %1 : tensor<f64>
}",
    );
    let main = module.main().unwrap();
    for found in [jvp(&module, main, &[0]).unwrap_err(), vjp(&module, main, &[0]).unwrap_err()] {
        assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["no-derivative"], "{found}");
    }
}

/// Returns a program with `count` functions besides the main one, of which each but the last calls the next one with
/// these lines, where `NEXT` stands for its name.
fn chain(count: usize, lines: &str) -> Module {
    let func = |i: usize| {
        let (name, next) =
            if i == 0 { ("@main".into(), "@f1".into()) } else { (format!("@f{i}"), format!("@f{}", i + 1)) };
        let lines =
            if i < count { lines.replace("NEXT", &next) } else { "  %0 = stablehlo.sine %x : tensor<f64>\n".into() };
        format!("func.func {name}(%x: tensor<f64>) -> tensor<f64> {{\n{lines}  return %0 : tensor<f64>\n}}\n")
    };
    parse(&(0..=count).map(func).collect::<String>())
}

const CALL: &str = "  %0 = call NEXT(%x) : (tensor<f64>) -> tensor<f64>\n";
const TWO_CALLS: &str =
    "  %1 = call NEXT(%x) : (tensor<f64>) -> tensor<f64>\n  %0 = call NEXT(%1) : (tensor<f64>) -> tensor<f64>\n";

/// Returns the codes of the mistakes that the transforms of a program's main function report.
fn codes(module: &Module) -> Vec<&'static str> {
    let main = module.main().unwrap();
    let found = [
        jvp(module, main, &[0]).err(),
        vjp(module, main, &[0]).err(),
        linearize(module, main, &[0]).err(),
        vmap(module, main, &[0], 2).err(),
    ];
    found.iter().flatten().flat_map(|found| found.iter().map(|d| d.code)).collect()
}

#[test]
fn calls_that_nest_deeply_are_refused() {
    assert_eq!(codes(&chain(100, CALL)), [""; 0]);
    assert_eq!(codes(&chain(20_000, CALL)), ["call-depth"; 4]);
}

#[test]
fn calls_that_double_the_program_are_refused() {
    assert_eq!(codes(&chain(8, TWO_CALLS)), [""; 0]);
    assert_eq!(codes(&chain(60, TWO_CALLS)), ["call-size"; 4]);
}

/// Returns a program with `count` functions with derivatives of their own, of which the rule of each but the last calls
/// the next one.
fn chain_of_rules(count: usize) -> Module {
    let call = |i: usize| {
        let attrs = format!("decomposition = @f{i}, composite_attributes = {{args = 1 : i64, jvp = @j{i}}}");
        format!("stablehlo.composite \"shardwise.custom_jvp\" %x {{{attrs}}} : (tensor<f64>) -> tensor<f64>")
    };
    let funcs = |i: usize| {
        let rule = if i + 1 < count { call(i + 1) } else { "stablehlo.sine %x : tensor<f64>".into() };
        format!(
            "func.func @f{i}(%x: tensor<f64>) -> tensor<f64> {{
  return %x : tensor<f64>
}}
func.func @j{i}(%x: tensor<f64>, %t: tensor<f64>) -> (tensor<f64>, tensor<f64>) {{
  %0 = {rule}
  return %0, %t : tensor<f64>, tensor<f64>
}}\n"
        )
    };
    let main = format!(
        "func.func @main(%x: tensor<f64>) -> tensor<f64> {{
  %0 = {}
  return %0 : tensor<f64>
}}\n",
        call(0)
    );
    parse(&(main + &(0..count).map(funcs).collect::<String>()))
}

#[test]
fn rules_that_nest_deeply_are_refused() {
    assert_eq!(codes(&chain_of_rules(100)), [""; 0]);
    // Derivatives copy only the first rule.
    assert_eq!(codes(&chain_of_rules(5_000)), ["call-depth"]);
}

#[test]
fn transforms_can_be_cancelled() {
    let module = chain(14, TWO_CALLS);
    for polls in [1, 1_000, 100_000] {
        let budget = Budget::new(Account::with_limit(1 << 20), None, CancelToken::at_poll(polls));
        assert_eq!(budget.run(|| codes(&module)), Err(Stop::Cancelled));
    }
}

#[test]
fn loops_of_too_many_steps_are_refused() {
    let source = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<0> : tensor<i64>
  %r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i64>, tensor<2xf32> cond {
    %n = stablehlo.constant dense<9223372036854775807> : tensor<i64>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %o = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %o : tensor<i64>
    %w = stablehlo.multiply %v, %v : tensor<2xf32>
    stablehlo.return %j, %w : tensor<i64>, tensor<2xf32>
  }
  return %r#1 : tensor<2xf32>
}";
    let module = parse(source);
    let wrong = vjp(&module, module.main().unwrap(), &[0]).unwrap_err().to_string();
    assert!(wrong.contains("loop-length") && wrong.contains("too many steps"), "{wrong}");
}

/// Checks a loop whose counter, limit and sum have sharding constraints, as JAX exports loops in partly manual code.
#[test]
fn counters_of_loops_may_have_constraints() {
    check_all(
        "sdy.mesh @mesh = <[\"a\"=1]>
func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<2xf64> cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %a = sdy.sharding_constraint %i <@mesh, []> : tensor<i32>
    %b = sdy.sharding_constraint %n <@mesh, []> : tensor<i32>
    %p = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %o = stablehlo.constant dense<1> : tensor<i32>
    %a = sdy.sharding_constraint %i <@mesh, []> : tensor<i32>
    %b = sdy.sharding_constraint %o <@mesh, []> : tensor<i32>
    %c = stablehlo.add %a, %b : tensor<i32>
    %j = sdy.sharding_constraint %c <@mesh, []> : tensor<i32>
    %w = stablehlo.sine %v : tensor<2xf64>
    stablehlo.return %j, %w : tensor<i32>, tensor<2xf64>
  }
  return %r#1 : tensor<2xf64>
}",
    );
}
