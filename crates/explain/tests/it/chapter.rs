//! The programs of the chapter: the remedies are those that its text names.

use crate::{explained, parsed};
use shardwise_explain::{Options, Place, explain, rust_spec};
use shardwise_sim::Topology;

/// `A[B_X, D_Y] * W[D, F_Y] -> Out[B_X, F_Y]`, for which `A` is gathered.
const GATHERED: &str = r#"sdy.mesh @mesh = <["X"=2, "Y"=4]>
func.func @main(
    %a: tensor<1024x2048xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>} loc("A"),
    %w: tensor<2048x8192xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>} loc("W"))
    -> (tensor<1024x8192xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
      : (tensor<1024x2048xi32>, tensor<2048x8192xi32>) -> tensor<1024x8192xi32>
  return %0 : tensor<1024x8192xi32>
}"#;

/// The text compares with a product whose contracted dimension is not split, for which nothing is gathered.
#[test]
fn the_gathered_operand_is_not_split_along_the_contraction() {
    let e = explained(GATHERED);
    let gathered = 512 * 2048 * 4 / 4 * 3;
    assert_eq!((e.groups.len(), e.figures.bytes_received), (1, gathered));
    let best = e.best().expect("there is one");
    assert_eq!(best.change.place, Place::Argument(0));
    assert_eq!(best.loc.scope(), "A");
    assert_eq!(best.change.layout.as_ref().map(rust_spec).as_deref(), Some(r#"P!("X", None)"#));
    assert_eq!((best.after.bytes_received, best.bytes_saved(), best.replicates_work()), (0, gathered, false));
    assert!(e.best_with_more_work().is_none());
}

/// Tests that the remedy saves the simulated time of the gather, to within a tenth of it.
#[test]
fn the_saving_in_time_is_that_of_the_gather() {
    let options = Options { topology: Some(Topology::parse("v5e:2x4").unwrap()), ..Options::default() };
    let e = explain(&parsed("a.mlir", GATHERED), &options).unwrap();
    let best = e.best().expect("there is one");
    assert_eq!(best.change.layout.as_ref().map(rust_spec).as_deref(), Some(r#"P!("X", None)"#));
    let time = e.groups[0].time().expect("it is simulated");
    assert_eq!(time.duration, time.exposed);
    let saved = best.before.step_time.zip(best.after.step_time).map(|(before, after)| before - after);
    let saved = saved.expect("both are simulated");
    assert!(saved.abs_diff(time.duration) < time.duration / 10, "{saved} {}", time.duration);
}

/// `In[B_X, D_Y] * W[D_Y, F] -> Out[B_X, F]`: the sum over "Y" becomes smaller if the result is split over "Y" too.
#[test]
fn a_sum_is_scattered_over_the_result() {
    let text = r#"sdy.mesh @mesh = <["X"=4, "Y"=2]>
func.func @main(
    %x: tensor<8x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>},
    %w: tensor<2048x8192xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"Y"}, {}]>})
    -> (tensor<8x8192xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) {
  %0 = stablehlo.multiply %x, %x : tensor<8x2048xbf16>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
      : (tensor<8x2048xbf16>, tensor<2048x8192xbf16>) -> tensor<8x8192xbf16>
  return %1 : tensor<8x8192xbf16>
}"#;
    let e = explained(text);
    let sum = 2 * 8192 * 2;
    assert_eq!(e.figures.bytes_received, sum);
    let best = e.best().expect("there is one");
    assert_eq!((best.change.place, best.after.bytes_received), (Place::Result(0), sum / 2));
    let layout = best.change.layout.as_ref().expect("a layout");
    assert!(layout.split_axes().count() == 2, "{layout}");
}

/// Problem 1.1: the average within each shard needs no communication, unless the result is wanted in another layout.
#[test]
fn averages_within_shards() {
    let text = |out: &str| {
        format!(
            r#"sdy.mesh @mesh = <["X"=4, "Y"=2]>
func.func @main(%x: tensor<64x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"X"}}, {{"Y"}}]>}})
    -> (tensor<4x2xf32> {{sdy.sharding = #sdy.sharding<@mesh, {out}>}}) {{
  %0 = stablehlo.reshape %x : (tensor<64x8xf32>) -> tensor<4x16x2x4xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1, 3]
      : (tensor<4x16x2x4xf32>, tensor<f32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}}"#
        )
    };
    let local = explained(&text(r#"[{"X"}, {"Y"}]"#));
    assert!(local.groups.is_empty() && local.best().is_none() && local.tried == 0);
    assert!(local.to_string().starts_with("no communication\n"));
    let whole = explained(&text("[{}, {}]"));
    assert!(whole.figures.bytes_received > 0);
    let best = whole.best().expect("there is one");
    assert_eq!((best.change.place, best.after.bytes_received), (Place::Result(0), 0));
}

/// Problem 2: the activations of a mixture of experts are gathered, if each device computes with its experts only.
/// Without the choice of an expert, this is `A[S_X, D] * W[E_X, D, F] -> Out[E_X, S, F]`.
#[test]
fn experts_gather_the_activations() {
    let text = r#"sdy.mesh @mesh = <["X"=8]>
func.func @main(
    %a: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>},
    %w: tensor<16x32x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>})
    -> (tensor<16x128x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) {
  %0 = stablehlo.dot_general %w, %a, contracting_dims = [1] x [1]
      : (tensor<16x32x128xf32>, tensor<64x32xf32>) -> tensor<16x128x64xf32>
  return %0 : tensor<16x128x64xf32>
}"#;
    let e = explained(text);
    let gathered = 64 * 32 * 4 / 8 * 7;
    assert_eq!((e.groups.len(), e.figures.bytes_received), (1, gathered));
    let best = e.best().expect("there is one");
    assert_eq!((best.change.place, best.after.bytes_received), (Place::Argument(0), 0));
    assert_eq!(best.change.layout.as_ref().map(rust_spec).as_deref(), Some("P!(None, None)"));
    assert!(!best.replicates_work());
}
