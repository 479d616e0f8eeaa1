//! Tests loops and branches whose regions return constants, arguments, captured values, parameters in another order, or
//! one value twice. They are nested or not, and run equally on all devices or differently on each device.

use shardwise_base::Literal;
use shardwise_check::generate::Case;
use shardwise_check::run;
use shardwise_ir::{text, verify};
use shardwise_ops::OPS;

/// The values that a region may return: a constant, an argument and a value from around it, its parameters, one that it
/// computes from them, and a constant of its own. `%p` and `%q` stand for its parameters.
const RETURNED: [&str; 7] = ["%c", "%a", "%cap", "%p", "%q", "%new", "%own"];

/// The ops of a region before it returns.
const REGION: &str = "%new = stablehlo.add %p, %q : Ty
    %own = stablehlo.constant dense<5.0> : Ty";

/// Nests of regions, of which the inner ones return `X` and `Y`, in this order or in the other one. `LOOP` has the name
/// of a loop's results and the initial values of its two parameters, and `IF` the name of a branch's results.
const NESTS: [&str; 5] = [
    // A loop.
    "LOOP(%r, %a, %b){ REGION }(X, Y)",
    // A loop in a loop.
    "LOOP(%r, %a, %b){ LOOP(%s, %p, %q){ REGION }(X, Y) }(%s#1, %s#2)",
    // A loop beside a loop, in a loop: the second loop's initial values are the first one's results.
    "LOOP(%r, %a, %b){ LOOP(%s, %p, %q){ REGION }(X, Y) LOOP(%t, %s#2, %s#1){ REGION }(Y, X) }(%t#2, %t#1)",
    // A branch in a loop.
    "LOOP(%r, %a, %b){ IF(%s){ REGION }(X, Y){ REGION }(Y, X) }(%s#0, %s#1)",
    // A loop in a branch in a loop.
    "LOOP(%r, %a, %b){ IF(%s){ LOOP(%t, %p, %q){ REGION }(X, Y) }(%t#2, %t#1){ REGION }(Y, X) }(%s#1, %s#0)",
];

/// Returns the ops of a nest, with its abbreviations replaced. `x` and `y` are the names of the values that the inner
/// regions return.
fn region(nest: &str, x: &str, y: &str) -> String {
    let text = nest.replace("REGION", REGION).replace("X", x).replace("Y", y);
    let mut out = String::new();
    let mut ends = vec![];
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['L', 'I', '}']) {
        let depth = ends.iter().filter(|&&end| end == "LOOP").count();
        out.push_str(&in_loop(&rest[..at], depth));
        rest = &rest[at..];
        let (head, tail) = rest.split_at(rest.find(if rest.starts_with('}') { ')' } else { '{' }).expect("a nest") + 1);
        rest = tail;
        let names: Vec<&str> =
            head[head.find('(').expect("a list") + 1..head.rfind(')').expect("its end")].split(", ").collect();
        let names: Vec<String> = names.into_iter().map(|name| in_loop(name, depth)).collect();
        if head.starts_with("LOOP") {
            out.push_str(&loop_head(&names, depth + 1));
            ends.push("LOOP");
        } else if head.starts_with("IF") {
            out.push_str(&format!("{}:2 = \"stablehlo.if\"(%flag) ({{", names[0]));
            ends.push("IF");
        } else {
            out.push_str(&in_loop(&end(&mut ends, &names), depth));
            if *ends.last().unwrap_or(&"") == "ELSE" {
                rest = rest.trim_start().strip_prefix('{').expect("the other branch");
            }
        }
    }
    out + rest
}

/// Numbers the names `%i`, `%p` and `%q` of what a loop carries by its depth, because no inner name may repeat an outer
/// one.
fn in_loop(text: &str, depth: usize) -> String {
    ["%i", "%p", "%q"].iter().fold(text.to_string(), |text, name| {
        let parts: Vec<&str> = text.split(name).collect();
        let is_longer = |part: &str| part.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        parts[1..].iter().fold(parts[0].to_string(), |out, part| match is_longer(part) {
            true => out + name + part,
            false => format!("{out}{name}_{depth}{part}"),
        })
    })
}

fn loop_head(names: &[String], depth: usize) -> String {
    let [i, p, q] = ["%i", "%p", "%q"].map(|name| in_loop(name, depth));
    format!(
        "{}:3 = stablehlo.while({i} = %zero, {p} = {}, {q} = {}) : tensor<i32>, Ty, Ty cond {{
    %more = stablehlo.compare LT, {i}, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{",
        names[0], names[1], names[2]
    )
}

/// Returns the end of the innermost region, which returns these names. If it is the first region of a branch, the start
/// of the second one follows. `ends` has the kinds of the open regions, outermost first.
fn end(ends: &mut Vec<&'static str>, names: &[String]) -> String {
    let pair = names.join(", ");
    match ends.pop().expect("a region") {
        "LOOP" => format!(
            "%next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, {pair} : tensor<i32>, Ty, Ty }}\n"
        ),
        "IF" => {
            ends.push("ELSE");
            format!("stablehlo.return {pair} : Ty, Ty }}, {{")
        }
        _ => format!("stablehlo.return {pair} : Ty, Ty }}) : (tensor<i1>) -> (Ty, Ty)\n"),
    }
}

/// Returns the program's body around the nest, with the values that it captures. `turns` has the lines that make `%n`.
fn body(nest: &str, x: &str, y: &str, turns: &str) -> String {
    format!(
        "{turns}
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %c = stablehlo.constant dense<3.0> : Ty
  %cap = stablehlo.multiply %a, %b : Ty
  %flag = stablehlo.compare GT, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  {}",
        region(nest, x, y)
    )
}

const TWO_TURNS: &str = "%n = stablehlo.constant dense<2> : tensor<i32>";
/// The lines that make `%n`, a number of turns that differs between devices along `x`.
const OWN_TURNS: &str = "%first = stablehlo.slice %a [0:1, 0:1] : (Ty) -> tensor<1x1xf32>
  %float = stablehlo.reshape %first : (tensor<1x1xf32>) -> tensor<f32>
  %n = stablehlo.convert %float : (tensor<f32>) -> tensor<i32>";

fn plain(nest: &str, x: &str, y: &str) -> String {
    format!(
        "func.func @main(%a: Ty, %b: Ty) -> (Ty, Ty) {{ {}\n return %r#1, %r#2 : Ty, Ty }}",
        body(nest, x, y, TWO_TURNS)
    )
}

fn manual(nest: &str, x: &str, y: &str, turns: &str) -> String {
    let row = "<@mesh, [{\"x\"}, {}]>";
    format!(
        "sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>
func.func @main(%A: tensor<2x3xf32>, %B: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {{
  %R:2 = sdy.manual_computation(%A, %B) in_shardings=[{row}, {row}] out_shardings=[{row}, {row}] manual_axes={{\"x\"}} (%a: Ty, %b: Ty) {{
  {}
  sdy.return %r#1, %r#2 : Ty, Ty
  }} : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return %R#0, %R#1 : tensor<2x3xf32>, tensor<2x3xf32>
}}",
        body(nest, x, y, turns)
    )
}

fn check(source: &str, inputs: &[Literal]) {
    let source = source.replace("Ty", "tensor<1x3xf32>");
    let module = text::parse("regions.mlir", &source, &OPS).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let module = verify(&module).or(module).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let case = Case { seed: 0, module, inputs: inputs.to_vec() };
    run::check(&case).unwrap_or_else(|e| panic!("{e}\n{source}"));
}

/// Tests every pair of returned values in every nest: on one device, on devices that agree, and on devices that do not.
#[test]
fn regions_return_any_values() {
    let small = [[1.0f32, 2.0, 3.0], [0.5, 0.25, 2.0]].map(|row| Literal::new([1, 3], &row));
    let large =
        [[1.0f32, 2.0, 3.0, 3.0, 1.0, 2.0], [0.5, 0.25, 2.0, 1.0, 0.5, 4.0]].map(|rows| Literal::new([2, 3], &rows));
    for nest in NESTS {
        for (x, y) in RETURNED.iter().flat_map(|x| RETURNED.iter().map(move |y| (*x, *y))) {
            check(&plain(nest, x, y), &small);
            check(&manual(nest, x, y, TWO_TURNS), &large);
            check(&manual(nest, x, y, OWN_TURNS), &large);
        }
    }
}
