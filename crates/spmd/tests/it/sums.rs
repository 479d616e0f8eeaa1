//! Sums over devices that are taken later than where they arise.

use crate::random_programs::{per_device, same};
use shardwise_base::Literal;
use shardwise_interp::run;
use shardwise_ir::text::parse;
use shardwise_ops::OPS;
use shardwise_spmd::{Context, Options, partition};

/// Returns a program on the products `p` of `a` and `b` and `q` of `a` and `-b`, whose contracted dimension of size `n`
/// is split over eight devices. `body` has the ops on the products and the return, and `result` is the type of the
/// results.
fn on_products(n: usize, body: &str, result: &str) -> String {
    format!(
        r#"sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<6x{n}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}}, %b: tensor<{n}x6xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> {result} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x{n}xf32>, tensor<{n}x6xf32>) -> tensor<6x6xf32>
  %c = stablehlo.negate %b : tensor<{n}x6xf32>
  %q = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : (tensor<6x{n}xf32>, tensor<{n}x6xf32>) -> tensor<6x6xf32>
{body}
}}"#
    )
}

/// Returns the bytes and the number of collectives of the partitioned program, with sums deferred and without, after
/// comparing its results with those of the whole program. Panics if they differ, or if the program cannot be
/// partitioned or run.
#[track_caller]
fn moved(program: &str, n: usize) -> [(u64, usize); 2] {
    let module = parse("test.mlir", program, &OPS).unwrap_or_else(|e| panic!("{e}\n{program}"));
    let small = |shape: [usize; 2]| Literal::from_fn(shape, |i| (i % 5) as f32 - 2.0);
    let args = [small([6, n]), small([n, 6])];
    let whole = run(&module, &args).unwrap_or_else(|e| panic!("{e}"));
    [false, true].map(|keeps_sums| {
        let mut options = Options { context: Context { keeps_sums, ..Context::default() }, ..Options::default() };
        let partitioned = partition(&module, &mut options).unwrap_or_else(|e| panic!("{e}"));
        same(&per_device(&partitioned, &args), &whole, program);
        (partitioned.communication.bytes_received(), partitioned.communication.rows.len())
    })
}

fn summed(elements: u64) -> u64 {
    2 * (elements * 4 - elements * 4 / 8)
}

#[test]
fn the_sum_of_a_product_is_one_number() {
    let body = "  %0 = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>";
    for n in [64, 67] {
        assert_eq!(moved(&on_products(n, body, "tensor<f32>"), n), [(8, 1), (summed(36), 1)]);
    }
}

#[test]
fn products_are_added_before_they_are_summed() {
    let body = "  %0 = stablehlo.add %p, %q : tensor<6x6xf32>
  %1 = stablehlo.add %0, %0 : tensor<6x6xf32>
  return %1 : tensor<6x6xf32>";
    for n in [64, 67] {
        assert_eq!(moved(&on_products(n, body, "tensor<6x6xf32>"), n), [(summed(36), 1), (2 * summed(36), 2)]);
    }
}

#[test]
fn terms_are_turned_before_they_are_summed() {
    let body = "  %0 = stablehlo.transpose %q, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %1 = stablehlo.add %p, %0 : tensor<6x6xf32>
  return %1 : tensor<6x6xf32>";
    assert_eq!(moved(&on_products(64, body, "tensor<6x6xf32>"), 64), [(summed(36), 1), (2 * summed(36), 2)]);
}

#[test]
fn negated_terms_are_summed_first_because_of_the_signs_of_zeros() {
    let body = "  %0 = stablehlo.negate %p : tensor<6x6xf32>
  %1 = stablehlo.subtract %0, %q : tensor<6x6xf32>
  return %1 : tensor<6x6xf32>";
    assert_eq!(moved(&on_products(64, body, "tensor<6x6xf32>"), 64), [(2 * summed(36), 2), (2 * summed(36), 2)]);
}

/// Tests the sign of a negated sum that is 0: it is kept unless the program states that the negation is unreduced.
#[test]
fn only_stated_sums_are_negated_summand_by_summand() {
    let negated = |layout: &str| {
        let body = format!("  %0 = stablehlo.negate %p{layout} : tensor<6x6xf32>\n  return %0 : tensor<6x6xf32>");
        let text = on_products(8, &body, "(tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})");
        let text = text.replacen("x [0] :", &format!("x [0]{layout} :"), 1);
        let module = parse("test.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}\n{text}"));
        // The summands of each element are 1, -1, 1, -1, …
        let args = [Literal::from_fn([6, 8], |i| 1.0 - 2.0 * (i % 2) as f32), Literal::from_fn([8, 6], |_| 1.0)];
        let partitioned = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
        per_device(&partitioned, &args)[0].get_f64(0)
    };
    let stated = r#" {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>}"#;
    let [kept, changed] = [negated(""), negated(stated)];
    assert!(kept == 0.0 && kept.is_sign_negative());
    assert!(changed == 0.0 && changed.is_sign_positive());
}

#[test]
fn a_term_that_is_no_sum_keeps_the_others_where_they_are() {
    // The broadcast is larger than the product, so that it is not worth summing after it.
    let body = "  %zeros = stablehlo.constant dense<0.0> : tensor<6x6x2xf32>
  %0 = stablehlo.broadcast_in_dim %p, dims = [0, 1] : (tensor<6x6xf32>) -> tensor<6x6x2xf32>
  %1 = stablehlo.broadcast_in_dim %q, dims = [0, 1] : (tensor<6x6xf32>) -> tensor<6x6x2xf32>
  %2 = stablehlo.sign %1 : tensor<6x6x2xf32>
  %3 = stablehlo.multiply %2, %zeros : tensor<6x6x2xf32>
  %4 = stablehlo.add %0, %3 : tensor<6x6x2xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<6x6x2xf32>, tensor<f32>) -> tensor<f32>
  return %5 : tensor<f32>";
    let [deferred, kept] = moved(&on_products(64, body, "tensor<f32>"), 64);
    assert_eq!(deferred, kept);
}

#[test]
fn a_sum_with_two_readers_is_taken_once() {
    let body = "  %0 = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
  return %0, %p : tensor<f32>, tensor<6x6xf32>";
    let found = moved(&on_products(64, body, "(tensor<f32>, tensor<6x6xf32>)"), 64);
    assert_eq!(found, [(summed(36), 1); 2]);
}
