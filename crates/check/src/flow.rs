//! Tests loops, branches and functions that return values that they did not make, with carries that are sharded
//! differently. Partitioned programs must have the results of the whole program on both engines.

use crate::run::agreed;
use shardwise_base::Literal;

const SHARDINGS: [&str; 4] = ["[{}, {}]", "[{\"x\"}, {}]", "[{}, {\"y\"}]", "[{\"y\", \"x\"}, {}]"];

/// The name of each program, and its lines. From two arrays `%a` and `%b` of type `Ty`, two scalars `%p` and `%n`, and
/// the constants and functions of [`text`], they make two arrays, which they name at the end, as in `RESULTS(%x, %y)`.
const PROGRAMS: &[(&str, &str)] = &[
    ("arguments", "RESULTS(%a, %a)"),
    ("swapped arguments", "RESULTS(%b, %a)"),
    ("constants", "RESULTS(%c, %c)"),
    ("a function's argument and constant", "%f:2 = call @first(%a, %b) : (Ty, Ty) -> (Ty, Ty) RESULTS(%f#0, %f#1)"),
    ("a function's duplicates", "%f:2 = call @twice(%a) : (Ty) -> (Ty, Ty) RESULTS(%f#1, %f#0)"),
    (
        "a loop that never runs",
        "%w:2 = stablehlo.while(%u = %a, %v = %b) : Ty, Ty cond { %no = stablehlo.constant dense<false> : tensor<i1>
         stablehlo.return %no : tensor<i1> } do { stablehlo.return %v, %u : Ty, Ty } RESULTS(%w#0, %w#1)",
    ),
    (
        "a captured condition",
        "%w:3 = stablehlo.while(%q = %p, %u = %a, %v = %b) : tensor<i1>, Ty, Ty cond { stablehlo.return %q : tensor<i1> }
         do { stablehlo.return %false, %v, %a : tensor<i1>, Ty, Ty } RESULTS(%w#1, %w#2)",
    ),
    (
        "a loop's duplicates and constants",
        "%w:4 = stablehlo.while(%i = %zero, %t = %c, %u = %a, %v = %b) : tensor<i32>, Ty, Ty, Ty
         cond { %m = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %m : tensor<i1> }
         do { %j = stablehlo.add %i, %one : tensor<i32> stablehlo.return %j, %u, %c, %t : tensor<i32>, Ty, Ty, Ty }
         RESULTS(%w#2, %w#3)",
    ),
    (
        "carries that turn",
        "%w:4 = stablehlo.while(%i = %zero, %t = %a, %u = %b, %v = %c) : tensor<i32>, Ty, Ty, Ty
         cond { %m = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %m : tensor<i1> }
         do { %j = stablehlo.add %i, %one : tensor<i32> %s = stablehlo.add %t, %b : Ty stablehlo.return %j, %u, %v, %s : tensor<i32>, Ty, Ty, Ty }
         RESULTS(%w#1, %w#3)",
    ),
    (
        "branches of captured values",
        "%w:2 = \"stablehlo.case\"(%n) ({ stablehlo.return %a, %b : Ty, Ty }, { stablehlo.return %c, %a : Ty, Ty },
         { stablehlo.return %b, %b : Ty, Ty }) : (tensor<i32>) -> (Ty, Ty) RESULTS(%w#0, %w#1)",
    ),
    (
        "a branch beyond the last",
        "%k = stablehlo.constant dense<-5> : tensor<i32> %w:2 = \"stablehlo.case\"(%k) ({ stablehlo.return %a, %b : Ty, Ty },
         { stablehlo.return %b, %c : Ty, Ty }) : (tensor<i32>) -> (Ty, Ty) RESULTS(%w#0, %w#1)",
    ),
    (
        "a branch of the only kind",
        "%w:2 = \"stablehlo.case\"(%n) ({ stablehlo.return %b, %a : Ty, Ty }) : (tensor<i32>) -> (Ty, Ty) RESULTS(%w#0, %w#1)",
    ),
    (
        "a branch in a loop in a branch",
        "%w:2 = \"stablehlo.if\"(%p) ({
           %l:3 = stablehlo.while(%i = %zero, %u = %a, %v = %b) : tensor<i32>, Ty, Ty
           cond { %m = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %m : tensor<i1> }
           do { %e = stablehlo.compare EQ, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
             %h:2 = \"stablehlo.if\"(%e) ({ stablehlo.return %v, %c : Ty, Ty }, { stablehlo.return %a, %u : Ty, Ty }) : (tensor<i1>) -> (Ty, Ty)
             %j = stablehlo.add %i, %one : tensor<i32> stablehlo.return %j, %h#1, %h#0 : tensor<i32>, Ty, Ty }
           stablehlo.return %l#2, %l#1 : Ty, Ty
         }, { stablehlo.return %c, %a : Ty, Ty }) : (tensor<i1>) -> (Ty, Ty) RESULTS(%w#0, %w#1)",
    ),
    (
        "a barrier of unlike values",
        "%w:3 = stablehlo.optimization_barrier %c, %a, %b : Ty, Ty, Ty RESULTS(%w#1, %w#0)",
    ),
    (
        "a manual computation in a loop",
        "%w:2 = stablehlo.while(%i = %zero, %u = %a) : tensor<i32>, Ty
         cond { %m = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %m : tensor<i1> }
         do { %o = sdy.manual_computation(%u, %b) in_shardings=[<@mesh, [{\"x\"}, {}]>, <@mesh, [{\"x\"}, {}]>]
                out_shardings=[<@mesh, [{\"x\"}, {}]>] manual_axes={\"x\"} (%s: tensor<4x6xi32>, %t: tensor<4x6xi32>) {
                %e = stablehlo.constant dense<true> : tensor<i1>
                %h = \"stablehlo.if\"(%e) ({ stablehlo.return %t : tensor<4x6xi32> }, { stablehlo.return %s : tensor<4x6xi32> }) : (tensor<i1>) -> tensor<4x6xi32>
                sdy.return %h : tensor<4x6xi32> } : (Ty, Ty) -> Ty
              %j = stablehlo.add %i, %one : tensor<i32> stablehlo.return %j, %o : tensor<i32>, Ty }
         RESULTS(%w#1, %a)",
    ),
];

fn text(lines: &str, [a, b, r]: [&str; 3]) -> String {
    let (lines, results) = lines.split_once("RESULTS").expect("what it returns");
    let sharding = |s: &str| format!("{{sdy.sharding = #sdy.sharding<@mesh, {s}>}}");
    let (a, b, r) = (sharding(a), sharding(b), sharding(r));
    let given = results.trim_matches(['(', ')']);
    format!(
        "sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>
func.func @main(%a: Ty {a}, %b: Ty {b}, %p: tensor<i1>, %n: tensor<i32>) -> (Ty {r}, Ty) {{
%c = stablehlo.constant dense<7> : Ty
%zero = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%false = stablehlo.constant dense<false> : tensor<i1>
{lines}
return {given} : Ty, Ty
}}
func.func private @first(%a: Ty, %b: Ty) -> (Ty, Ty) {{ %c = stablehlo.constant dense<3> : Ty return %a, %c : Ty, Ty }}
func.func private @twice(%a: Ty) -> (Ty, Ty) {{ return %a, %a : Ty, Ty }}"
    )
    .replace("Ty", "tensor<8x6xi32>")
}

#[test]
fn regions_return_what_is_not_theirs() {
    let array = |k: usize| Literal::from_fn([8, 6], |i| (i * 7 + k) as i32);
    let mut wrong = vec![];
    for (name, lines) in PROGRAMS {
        for (i, a) in SHARDINGS.iter().enumerate() {
            for (j, b) in SHARDINGS.iter().enumerate() {
                let shardings = [*a, *b, SHARDINGS[(i + 2 * j + 1) % 4]];
                for (p, n) in [(true, 2i32), (false, 1)] {
                    let flag = Literal::scalar(shardwise_base::Bool8::from(p));
                    let inputs = [array(0), array(100), flag, Literal::scalar(n)];
                    let found = agreed(&text(lines, shardings), &inputs);
                    wrong.extend(found.err().map(|e| format!("{name}: {e}")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong[..wrong.len().min(6)].join("\n\n"));
}
