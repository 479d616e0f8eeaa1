//! Reducers of several values along a sharded dimension: what they compute, and what they move.

use crate::random_programs::{per_device, same};
use shardwise_base::Literal;
use shardwise_interp::run;
use shardwise_ir::text::parse;
use shardwise_ops::OPS;
use shardwise_spmd::{Options, Partitioned, partition};

/// Returns the reducer of JAX's argmax (`GT`) or argmin (`LT`), which finds the first NaN, or else the extreme value
/// with the lowest index.
fn extreme(direction: &str) -> String {
    format!(
        "reducer(%v: tensor<f32>, %w: tensor<f32>) (%m: tensor<i32>, %n: tensor<i32>) {{
      %1 = stablehlo.compare {direction}, %v, %w, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.compare NE, %v, %v, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.or %1, %2 : tensor<i1>
      %4 = stablehlo.compare EQ, %v, %w, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.compare LT, %m, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %6 = stablehlo.and %4, %5 : tensor<i1>
      %7 = stablehlo.or %3, %6 : tensor<i1>
      %8 = stablehlo.select %3, %v, %w : tensor<i1>, tensor<f32>
      %9 = stablehlo.select %7, %m, %n : tensor<i1>, tensor<i32>
      stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
    }}"
    )
}

/// Returns a program that reduces three rows of `n` elements, which are split over `axes`, together with their indices.
/// `init` is the initial value of the elements, and that of the indices is 0.
fn rows(n: usize, axes: &str, init: &str, reducer: &str) -> String {
    format!(
        r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<3x{n}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{{axes}}}]>}}) -> (tensor<3xf32>, tensor<3xi32>) {{
  %i = stablehlo.iota dim = 1 : tensor<3x{n}xi32>
  %c = stablehlo.constant dense<{init}> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%a init: %c), (%i init: %zero) across dimensions = [1] : (tensor<3x{n}xf32>, tensor<3x{n}xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
    {reducer}
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>
}}"#
    )
}

/// Returns the partitioned program, after comparing its results with those of the whole program. Panics if they differ,
/// or if the program cannot be partitioned or run.
#[track_caller]
fn checked(program: &str, args: &[Literal]) -> Partitioned {
    let module = parse("test.mlir", program, &OPS).unwrap_or_else(|e| panic!("{e}\n{program}"));
    let whole = run(&module, args).unwrap_or_else(|e| panic!("{e}"));
    let partitioned = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    same(&per_device(&partitioned, args), &whole, program);
    partitioned
}

fn inputs(n: usize) -> Vec<Literal> {
    let ties = |i: usize| [2.0, -1.0, 2.0, 0.0, 2.0][i % 5];
    let nans = |i: usize| if i % 5 == 4 { f32::NAN } else { i as f32 };
    let least = |_: usize| f32::NEG_INFINITY;
    let most = |_: usize| f32::INFINITY;
    let mixed = |i: usize| [ties(i), nans(i), least(i)][i % 3];
    let all: [&dyn Fn(usize) -> f32; 5] = [&ties, &nans, &least, &most, &mixed];
    all.iter().map(|f| Literal::from_fn([3, n], f)).collect()
}

#[test]
fn the_first_nan_or_extreme_is_found_at_every_size() {
    for n in [0, 1, 2, 3, 4, 5, 7, 8, 13, 64] {
        for axes in [r#""x", "y""#, r#""y", "x""#, r#""y""#] {
            for (direction, init) in [("GT", "0xFF800000"), ("LT", "0x7F800000")] {
                for input in inputs(n) {
                    checked(&rows(n, axes, init, &extreme(direction)), &[input]);
                }
            }
        }
    }
}

#[test]
fn only_partial_results_are_gathered() {
    let found = checked(&rows(64, r#""x", "y""#, "0xFF800000", &extreme("GT")), &inputs(64)[..1]).communication;
    // Each device receives three values and three indices from each of three others.
    assert_eq!((found.bytes_received(), found.count_of("all-gather")), (3 * 3 * (4 + 4), 2), "{found}");
    let uneven = checked(&rows(63, r#""x", "y""#, "0xFF800000", &extreme("GT")), &inputs(63)[..1]).communication;
    assert_eq!(uneven.bytes_received(), found.bytes_received(), "{uneven}");
}

fn pair(values: &str, indices: &str) -> String {
    format!(
        "reducer(%v: tensor<f32>, %w: tensor<f32>) (%m: tensor<i32>, %n: tensor<i32>) {{
      %1 = stablehlo.{values} %v, %w : tensor<f32>
      %2 = stablehlo.{indices} %m, %n : tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }}"
    )
}

#[test]
fn two_sums_are_all_reduced_and_start_once() {
    for n in [1, 13, 64] {
        let input = Literal::from_fn([3, n], |i| (i % 7) as f32);
        for init in ["0.0", "5.0"] {
            let program = rows(n, r#""x", "y""#, init, &pair("add", "add"));
            let found = checked(&program, std::slice::from_ref(&input)).communication;
            assert!(n < 64 || found.count_of("all-reduce") == 2 && found.rows.len() == 2, "{found}");
        }
    }
}

#[test]
fn two_reductions_are_gathered_if_their_initial_values_can_be_repeated() {
    for n in [1, 13, 64] {
        let input = Literal::from_fn([3, n], |i| (i % 7) as f32);
        let zero = checked(&rows(n, r#""x", "y""#, "0.0", &pair("add", "maximum")), std::slice::from_ref(&input))
            .communication;
        assert!(n < 64 || zero.bytes_received() == 3 * 3 * (4 + 4), "{zero}");
        // An initial value that is not zero counts once.
        let five = checked(&rows(n, r#""x", "y""#, "5.0", &pair("add", "maximum")), &[input]).communication;
        assert!(n < 64 || five.bytes_received() > zero.bytes_received(), "{five}");
    }
}
