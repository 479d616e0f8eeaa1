//! Gathers in loops.

use crate::programs::{agree, localized, scheduled, shown, topology};
use shardwise_base::Literal;
use shardwise_sim::Overlap;

/// Returns a loop over `layers` layers whose weights are sharded over `x` and gathered in each turn.
pub fn layers(layers: usize, width: usize, rows: usize) -> String {
    let local = width / 4;
    format!(
        r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<{total}x{width}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
    %w: tensor<{layers}x{width}x{width}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}, {{}}]>}})
    -> (tensor<{total}x{width}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) {{
  %0 = sdy.manual_computation(%a, %w) in_shardings=[<@mesh, [{{"x"}}, {{}}]>, <@mesh, [{{}}, {{"x"}}, {{}}]>]
      out_shardings=[<@mesh, [{{"x"}}, {{}}]>] manual_axes={{"x"}}
      (%x: tensor<{rows}x{width}xf32>, %v: tensor<{layers}x{local}x{width}xf32>) {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.constant dense<{layers}> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<{rows}x{width}xf32>
    cond {{
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }} do {{
      %s = stablehlo.dynamic_slice %v, %i, %zero, %zero, sizes = [1, {local}, {width}]
          : (tensor<{layers}x{local}x{width}xf32>, tensor<i32>, tensor<i32>, tensor<i32>)
          -> tensor<1x{local}x{width}xf32>
      %t = stablehlo.reshape %s : (tensor<1x{local}x{width}xf32>) -> tensor<{local}x{width}xf32>
      %g = "stablehlo.all_gather"(%t) <{{all_gather_dim = 0 : i64,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
          replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}>
          : (tensor<{local}x{width}xf32>) -> tensor<{width}x{width}xf32>
      %u = stablehlo.negate %g : tensor<{width}x{width}xf32>
      %d = stablehlo.dot_general %h, %u, contracting_dims = [1] x [0]
          : (tensor<{rows}x{width}xf32>, tensor<{width}x{width}xf32>) -> tensor<{rows}x{width}xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %d : tensor<i32>, tensor<{rows}x{width}xf32>
    }}
    sdy.return %r#1 : tensor<{rows}x{width}xf32>
  }} : (tensor<{total}x{width}xf32>, tensor<{layers}x{width}x{width}xf32>) -> tensor<{total}x{width}xf32>
  return %0 : tensor<{total}x{width}xf32>
}}"#,
        total = 4 * rows
    )
}

pub fn numbers(shape: &[usize]) -> Literal {
    let count: usize = shape.iter().product();
    Literal::new(shape, &(0..count).map(|i| (i % 5) as f32 - 2.0).collect::<Vec<_>>())
}

#[test]
fn the_gather_of_the_next_turn_is_started_before() {
    let module = localized(&layers(16, 2048, 2048));
    let out = scheduled(&module, &topology("v5e:2x2"), Overlap::Auto);
    let made: Vec<&str> = out.decisions.iter().filter(|d| d.is_taken).map(|d| &*d.what).collect();
    assert_eq!(made, ["all_gather in a loop, started in the turn before"], "{}", shown(&out.module));
    assert!((out.after as f64) < 0.85 * out.before as f64, "{} {}", out.after, out.before);
}

#[test]
fn loops_with_earlier_gathers_are_equal() {
    for count in [1, 2, 3, 7] {
        let module = localized(&layers(count, 4, 3));
        let out = scheduled(&module, &topology("v5e:2x2"), Overlap::Force);
        assert_eq!(out.decisions.iter().any(|d| d.is_taken), count > 1, "{count} turns");
        agree(&module, &out.module, &[numbers(&[12, 4]), numbers(&[count, 4, 4])]).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Tests a chain of scalars that nothing else waits for. To write it by a recursion would exceed the thread's stack.
#[test]
fn long_chains_of_scalars_are_written() {
    let n = 50_000;
    let ops: String = (0..n).map(|i| format!("    %{} = stablehlo.negate %{i} : tensor<f32>\n", i + 1)).collect();
    let program = format!(
        r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<f32>) -> tensor<f32> {{
  %r = sdy.manual_computation(%a) in_shardings=[<@mesh, []>] out_shardings=[<@mesh, []>] manual_axes={{"x"}} (%0: tensor<f32>) {{
{ops}    sdy.return %{n} : tensor<f32>
  }} : (tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}}"#
    );
    let local = localized(&program);
    let after = scheduled(&local, &topology("v5e:2x2"), Overlap::Auto);
    assert_eq!(after.module.main().map(|f| f.body.walk().len()), local.main().map(|f| f.body.walk().len()));
}
