//! Loops move a value that no turn changes once, and decisions count the turns.

use crate::random_programs::{per_device, same};
use shardwise_base::Literal;
use shardwise_engine::Signature;
use shardwise_interp::run;
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ops::OPS;
use shardwise_spmd::{Communication, Options, find, partition, run_until};

/// Returns a program with a loop that multiplies an array of 32 rows by a weight in each turn. `x` and `w` are the
/// shardings of the two, `n` is the number of their columns, and `limit` is the value with the number of turns.
fn products(x: &str, w: &str, n: usize, limit: &str) -> String {
    format!(
        r#"sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<32x{n}xf32> {{sdy.sharding = #sdy.sharding<@mesh, {x}>}}, %w: tensor<{n}x{n}xf32> {{sdy.sharding = #sdy.sharding<@mesh, {w}>}}, %n: tensor<i32>) -> (tensor<32x{n}xf32> {{sdy.sharding = #sdy.sharding<@mesh, {x}>}}) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %c = stablehlo.constant dense<10> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %a) : tensor<i32>, tensor<32x{n}xf32>
  cond {{
    %1 = stablehlo.compare LT, %i, {limit}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = sdy.sharding_constraint %y <@mesh, {x}> : tensor<32x{n}xf32>
    %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<32x{n}xf32>, tensor<{n}x{n}xf32>) -> tensor<32x{n}xf32>
    %4 = sdy.sharding_constraint %3 <@mesh, {x}> : tensor<32x{n}xf32>
    stablehlo.return %1, %4 : tensor<i32>, tensor<32x{n}xf32>
  }}
  return %0#1 : tensor<32x{n}xf32>
}}"#
    )
}

/// Returns what the partitioned program moves, after comparing its results with those of the whole program. Panics if
/// they differ, or if the program cannot be partitioned or run.
#[track_caller]
fn moved(program: &str) -> Communication {
    let module = parse("test.mlir", program, &OPS).unwrap_or_else(|e| panic!("{e}\n{program}"));
    let signature = Signature::of(module.main().expect("there is one")).unwrap_or_else(|e| panic!("{e}"));
    let args: Vec<Literal> = signature.inputs.iter().map(|input| small(&input.ty.shape)).collect();
    let whole = run(&module, &args).unwrap_or_else(|e| panic!("{e}"));
    let partitioned = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    same(&per_device(&partitioned, &args), &whole, program);
    partitioned.communication
}

/// Returns small numbers of which few are not zero, so that products and sums of them are exact; 3 for a scalar.
fn small(shape: &[usize]) -> Literal {
    match shape {
        [] => Literal::scalar(3i32),
        _ => Literal::from_fn(shape, |i| if i % 31 == 0 { (i % 3) as f32 } else { 0.0 }),
    }
}

const ROWS: &str = r#"[{"x"}, {}]"#;
const COLUMNS: &str = r#"[{}, {"x"}]"#;

fn gathered(n: u64) -> u64 {
    n * n * 4 / 8 * 7
}

#[test]
fn the_weight_of_all_turns_is_gathered_once() {
    for (weight, limit) in [(ROWS, "%c"), (COLUMNS, "%c"), (ROWS, "%n"), (COLUMNS, "%n")] {
        let found = moved(&products(ROWS, weight, 64, limit));
        let [row] = &found.rows[..] else { panic!("{found}") };
        assert_eq!((row.kind.name(), row.count, row.bytes_received), ("all-gather", Some(1), gathered(64)), "{found}");
        assert!(row.why().contains("once"), "{found}");
    }
}

#[test]
fn a_weight_that_one_turn_uses_competes_with_what_the_turn_moves() {
    // The activations are smaller than the weight.
    let once = moved(&products(ROWS, COLUMNS, 64, "%one"));
    assert!(once.bytes_received() < gathered(64), "{once}");
}

#[test]
fn a_weight_too_large_to_keep_is_priced_in_each_turn() {
    let module = parse("test.mlir", &products(ROWS, COLUMNS, 4096, "%c"), &OPS).unwrap_or_else(|e| panic!("{e}"));
    let found = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}")).communication;
    assert!(found.rows.iter().all(|row| row.bytes_received < gathered(4096)), "{found}");
}

#[test]
fn hoisting_twice_is_hoisting_once() {
    let module = parse("test.mlir", &products(ROWS, COLUMNS, 64, "%n"), &OPS).unwrap_or_else(|e| panic!("{e}"));
    let hoisted = run_until("hoist", &module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let again = (find("hoist").unwrap().run)(hoisted.clone(), &mut Default::default()).unwrap();
    let text = |m| print(m, &PrintOptions::EXACT);
    assert_eq!(text(&again), text(&hoisted));
}

/// Tests loops whose bytes and work, times their turns, are more than 64 bits hold. The prices of such loops must not
/// overflow when they are added.
#[test]
fn loops_of_very_many_turns_have_prices() {
    let [a, b, c] = [r#"[{"x"}, {}]"#, r#"[{}, {"x"}]"#, "[{}, {}]"];
    let on = |s: &str| format!("sdy.sharding_constraint %y <@mesh, {s}> : tensor<1024x1024xf32>");
    let loops = |name: &str, body: &str| {
        format!(
            r#"  %{name}:2 = stablehlo.while(%i = %zero, %y = %a) : tensor<i64>, tensor<1024x1024xf32>
  cond {{
    %1 = stablehlo.compare LT, %i, %many, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %1 = stablehlo.add %i, %one : tensor<i64>
{body}    stablehlo.return %1, %4 : tensor<i64>, tensor<1024x1024xf32>
  }}
"#
        )
    };
    let body =
        format!("    %2 = {}\n    %3 = {}\n    %4 = stablehlo.add %2, %3 : tensor<1024x1024xf32>\n", on(a), on(b));
    let sharded = |s: &str| format!("{{sdy.sharding = #sdy.sharding<@mesh, {s}>}}");
    let program = format!(
        r#"sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<1024x1024xf32> {}) -> (tensor<1024x1024xf32> {}) {{
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %many = stablehlo.constant dense<9000000000000000000> : tensor<i64>
{}{}  %sum = stablehlo.add %p#1, %q#1 : tensor<1024x1024xf32>
  return %sum : tensor<1024x1024xf32>
}}"#,
        sharded(a),
        sharded(c),
        loops("p", &body),
        loops("q", &body),
    );
    let module = parse("test.mlir", &program, &OPS).unwrap_or_else(|e| panic!("{e}\n{program}"));
    let partitioned = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(partitioned.communication.bytes_received(), u64::MAX);
}
