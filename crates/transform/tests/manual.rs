//! Derivatives and batches of per-device code, compared with differences of values of the whole program.

mod common;

use common::{check, check_batch, parse, printed, with_main};
use shardwise_transform::{jvp, linearize, vjp};

/// Returns a program with the mesh `x=2, y=2` that runs `body` as per-device code over the axes `manual`. `ins` are the
/// layout, the whole type and the type on each device of each argument, and `out` those of the result. The body reads
/// `%x0`, `%x1` and so on, and defines `%out`.
fn manual(ins: &[(&str, &str, &str)], manual: &str, out: (&str, &str, &str), body: &str) -> String {
    let list = |f: &dyn Fn(usize) -> String| (0..ins.len()).map(f).collect::<Vec<_>>().join(", ");
    let args = list(&|i| format!("%arg{i}: tensor<{}>", ins[i].1));
    let names = list(&|i| format!("%arg{i}"));
    let layouts = list(&|i| format!("<@mesh, {}>", ins[i].0));
    let inner = list(&|i| format!("%x{i}: tensor<{}>", ins[i].2));
    let types = list(&|i| format!("tensor<{}>", ins[i].1));
    let (layout, outer, local) = out;
    format!(
        r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main({args}) -> tensor<{outer}> {{
  %0 = sdy.manual_computation({names}) in_shardings=[{layouts}] out_shardings=[<@mesh, {layout}>] manual_axes={manual} ({inner}) {{
{body}
    sdy.return %out : tensor<{local}>
  }} : ({types}) -> tensor<{outer}>
  return %0 : tensor<{outer}>
}}"#
    )
}

const X: &str =
    "replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = \"x\">]>";

fn all_reduce(to: &str, from: &str, ty: &str, combine: &str) -> String {
    format!(
        r#"    {to} = "stablehlo.all_reduce"({from}) <{{{X}}}> ({{
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %c = stablehlo.{combine} %a, %b : tensor<f64>
      stablehlo.return %c : tensor<f64>
    }}) : (tensor<{ty}>) -> tensor<{ty}>
"#
    )
}

const SPLIT: (&str, &str, &str) = (r#"[{"x"}, {}]"#, "4x3xf64", "2x3xf64");
const WHOLE: (&str, &str, &str) = (r#"[{}, {}]"#, "2x3xf64", "2x3xf64");

fn checked(source: &str) {
    check(source);
    check_batch(source, 0.0);
}

#[test]
fn values_that_meet_parts() {
    // The weight is equal on all devices, and its cotangent is summed over those along `x`.
    let body = "    %s = stablehlo.sine %x1 : tensor<2x3xf64>\n    %out = stablehlo.multiply %x0, %s : tensor<2x3xf64>";
    checked(&manual(&[SPLIT, WHOLE], r#"{"x"}"#, SPLIT, body));
    checked(&manual(&[SPLIT, WHOLE], r#"{"x", "y"}"#, SPLIT, body));
}

#[test]
fn a_cotangent_is_summed_once() {
    let body = "    %a = stablehlo.multiply %x0, %x1 : tensor<2x3xf64>
    %b = stablehlo.add %a, %x1 : tensor<2x3xf64>
    %c = stablehlo.multiply %x1, %x1 : tensor<2x3xf64>
    %out = stablehlo.multiply %b, %c : tensor<2x3xf64>";
    let source = manual(&[SPLIT, WHOLE], r#"{"x"}"#, SPLIT, body);
    checked(&source);
    let module = parse(&source);
    let back = with_main(&module, vjp(&module, module.main().unwrap(), &[1]).unwrap());
    assert_eq!(printed(&back).matches("all_reduce").count(), 1, "{}", printed(&back));
}

#[test]
fn sums_over_devices() {
    let body = all_reduce("%s", "%x0", "2x3xf64", "add")
        + "    %e = stablehlo.exponential %s : tensor<2x3xf64>\n    %out = stablehlo.multiply %e, %x1 : tensor<2x3xf64>";
    checked(&manual(&[SPLIT, WHOLE], r#"{"x"}"#, WHOLE, &body));
    // The result is a part of a larger array, of which each device has a copy of the same values.
    checked(&manual(&[SPLIT, WHOLE], r#"{"x"}"#, SPLIT, &body));
    // A sum of equal values.
    let body = all_reduce("%s", "%x0", "2x3xf64", "add") + "    %out = stablehlo.multiply %s, %s : tensor<2x3xf64>";
    checked(&manual(&[WHOLE], r#"{"x"}"#, WHOLE, &body));
}

#[test]
fn maxima_over_devices() {
    for kind in ["maximum", "minimum"] {
        let body = all_reduce("%s", "%x0", "2x3xf64", kind) + "    %out = stablehlo.multiply %s, %x0 : tensor<2x3xf64>";
        checked(&manual(&[SPLIT], r#"{"x"}"#, SPLIT, &body));
    }
}

#[test]
fn gathers_and_scatters() {
    let gather = format!(
        r#"    %g = "stablehlo.all_gather"(%x0) <{{all_gather_dim = 0 : i64, {X}}}> : (tensor<2x3xf64>) -> tensor<4x3xf64>
"#
    );
    let whole = (r#"[{}, {}]"#, "4x3xf64", "4x3xf64");
    let body = format!("{gather}    %out = stablehlo.multiply %g, %g : tensor<4x3xf64>");
    checked(&manual(&[SPLIT], r#"{"x"}"#, whole, &body));
    let body = format!("{gather}    %out = stablehlo.multiply %g, %x1 : tensor<4x3xf64>");
    checked(&manual(
        &[SPLIT, (r#"[{"x"}, {}]"#, "8x3xf64", "4x3xf64")],
        r#"{"x"}"#,
        (r#"[{"x"}, {}]"#, "8x3xf64", "4x3xf64"),
        &body,
    ));
    let body = format!(
        r#"    %g = stablehlo.sine %x0 : tensor<4x3xf64>
    %out = "stablehlo.reduce_scatter"(%g) <{{scatter_dimension = 0 : i64, {X}}}> ({{
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %c = stablehlo.add %a, %b : tensor<f64>
      stablehlo.return %c : tensor<f64>
    }}) : (tensor<4x3xf64>) -> tensor<2x3xf64>"#
    );
    checked(&manual(&[(r#"[{"x"}, {}]"#, "8x3xf64", "4x3xf64")], r#"{"x"}"#, SPLIT, &body));
    checked(&manual(&[whole], r#"{"x"}"#, SPLIT, &body));
}

#[test]
fn exchanges() {
    let body = format!(
        r#"    %s = stablehlo.sine %x0 : tensor<2x4xf64>
    %out = "stablehlo.all_to_all"(%s) <{{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, {X}}}> : (tensor<2x4xf64>) -> tensor<4x2xf64>"#
    );
    checked(&manual(
        &[(r#"[{"x"}, {}]"#, "4x4xf64", "2x4xf64")],
        r#"{"x"}"#,
        (r#"[{}, {"x"}]"#, "4x4xf64", "4x2xf64"),
        &body,
    ));
    let axes =
        "shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = \"x\">]>";
    for how in [
        format!("{axes}, shardwise.shift = 1 : i64, shardwise.wraps"),
        format!("{axes}, shardwise.shift = -1 : i64"),
        format!("{axes}, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>"),
    ] {
        let body = format!(
            r#"    %p = "stablehlo.collective_permute"(%x0) <{{{how}}}> : (tensor<2x3xf64>) -> tensor<2x3xf64>
    %out = stablehlo.multiply %p, %x0 : tensor<2x3xf64>"#
        );
        checked(&manual(&[SPLIT], r#"{"x"}"#, SPLIT, &body));
    }
}

#[test]
fn broadcasts() {
    let body = format!(
        r#"    %p = "stablehlo.collective_broadcast"(%x0) <{{{X}}}> : (tensor<2x3xf64>) -> tensor<2x3xf64>
    %out = stablehlo.multiply %p, %x0 : tensor<2x3xf64>"#
    );
    checked(&manual(&[SPLIT], r#"{"x"}"#, SPLIT, &body));
    // Each operand has a root of its own.
    let body = format!(
        r#"    %roots = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
    %p:2 = "stablehlo.collective_broadcast"(%x0, %x1, %roots) <{{{X}, has_dynamic_root}}> : (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2xi32>) -> (tensor<2x3xf64>, tensor<2x3xf64>)
    %m = stablehlo.multiply %p#0, %x1 : tensor<2x3xf64>
    %out = stablehlo.multiply %m, %p#1 : tensor<2x3xf64>"#
    );
    check(&manual(&[SPLIT, SPLIT], r#"{"x"}"#, SPLIT, &body));
}

#[test]
fn sums_for_one_device() {
    let sum = r#"({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %c = stablehlo.add %a, %b : tensor<f64>
      stablehlo.return %c : tensor<f64>
    })"#;
    let body = format!(
        r#"    %s = stablehlo.sine %x0 : tensor<2x3xf64>
    %r = "stablehlo.collective_reduce"(%s) <{{{X}}}> {sum} : (tensor<2x3xf64>) -> tensor<2x3xf64>
    %out = stablehlo.multiply %r, %x0 : tensor<2x3xf64>"#
    );
    checked(&manual(&[SPLIT], r#"{"x"}"#, SPLIT, &body));
    let body = format!(
        r#"    %roots = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
    %r:2 = "stablehlo.collective_reduce"(%x0, %x1, %roots) <{{{X}, has_dynamic_root}}> {sum} : (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2xi32>) -> (tensor<2x3xf64>, tensor<2x3xf64>)
    %m = stablehlo.multiply %r#0, %x1 : tensor<2x3xf64>
    %out = stablehlo.add %m, %r#1 : tensor<2x3xf64>"#
    );
    check(&manual(&[SPLIT, SPLIT], r#"{"x"}"#, SPLIT, &body));
}

#[test]
fn positions_along_an_axis() {
    let body = r#"    %i = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f64>
    %w = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f64>) -> tensor<2x3xf64>
    %m = stablehlo.multiply %w, %x0 : tensor<2x3xf64>
    %out = stablehlo.multiply %m, %x0 : tensor<2x3xf64>"#;
    checked(&manual(&[WHOLE], r#"{"x"}"#, SPLIT, body));
}

/// A loop over layers, with weights that are equal on all devices.
const LAYERS: &str = r#"    %w = stablehlo.sine %x1 : tensor<5x3xf64>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %end = stablehlo.constant dense<5> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %h = %x0) : tensor<i32>, tensor<2x3xf64>
    cond {
      %p = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %l = stablehlo.dynamic_slice %w, %i, %zero, sizes = [1, 3] : (tensor<5x3xf64>, tensor<i32>, tensor<i32>) -> tensor<1x3xf64>
      %v = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<1x3xf64>) -> tensor<2x3xf64>
      %m = stablehlo.multiply %h, %v : tensor<2x3xf64>
      %t = stablehlo.tanh %m : tensor<2x3xf64>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %t : tensor<i32>, tensor<2x3xf64>
    }
    %out = stablehlo.multiply %r#1, %r#1 : tensor<2x3xf64>"#;

#[test]
fn loops_sum_after_the_last_turn() {
    let weights = ("[{}, {}]", "5x3xf64", "5x3xf64");
    let source = manual(&[SPLIT, weights], r#"{"x"}"#, SPLIT, LAYERS);
    checked(&source);
    let module = parse(&source);
    let back = printed(&with_main(&module, vjp(&module, module.main().unwrap(), &[0, 1]).unwrap()));
    let (_, after) = back.rsplit_once("stablehlo.while").unwrap();
    let inside = after.split("\n      }\n      %").next().unwrap();
    assert_eq!((back.matches("all_reduce").count(), inside.matches("all_reduce").count()), (1, 0), "{back}");
}

#[test]
fn derivatives_of_derivatives() {
    let body = all_reduce("%s", "%x0", "2x3xf64", "add")
        + "    %e = stablehlo.exponential %s : tensor<2x3xf64>\n    %m = stablehlo.multiply %e, %x1 : tensor<2x3xf64>
    %out = stablehlo.multiply %m, %x0 : tensor<2x3xf64>";
    let module = parse(&manual(&[SPLIT, WHOLE], r#"{"x"}"#, SPLIT, &body));
    let back = with_main(&module, vjp(&module, module.main().unwrap(), &[0, 1]).unwrap());
    check(&printed(&back));
}

#[test]
fn manual_computations_in_manual_computations() {
    let source = r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<4x4xf64>, %arg1: tensor<2x4xf64>) -> tensor<4x4xf64> {
  %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%x0: tensor<2x4xf64>, %x1: tensor<2x4xf64>) {
    %1 = sdy.manual_computation(%x0, %x1) in_shardings=[<@mesh, [{}, {"y"}]>, <@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%y0: tensor<2x2xf64>, %y1: tensor<2x2xf64>) {
      %s = stablehlo.sine %y0 : tensor<2x2xf64>
      %2 = stablehlo.multiply %s, %y1 : tensor<2x2xf64>
      sdy.return %2 : tensor<2x2xf64>
    } : (tensor<2x4xf64>, tensor<2x4xf64>) -> tensor<2x4xf64>
    %3 = stablehlo.multiply %1, %x1 : tensor<2x4xf64>
    sdy.return %3 : tensor<2x4xf64>
  } : (tensor<4x4xf64>, tensor<2x4xf64>) -> tensor<4x4xf64>
  return %0 : tensor<4x4xf64>
}"#;
    checked(source);
}

#[test]
fn started_collectives() {
    let body = r#"    %f = "stablehlo.async_start"(%x0) ({
    ^bb0(%z: tensor<2x3xf64>):
      %p = "stablehlo.collective_permute"(%z) <{shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64, shardwise.wraps}> : (tensor<2x3xf64>) -> tensor<2x3xf64>
      stablehlo.return %p : tensor<2x3xf64>
    }) : (tensor<2x3xf64>) -> !stablehlo.future<tensor<2x3xf64>>
    %d = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2x3xf64>>) -> tensor<2x3xf64>
    %out = stablehlo.multiply %d, %x0 : tensor<2x3xf64>"#;
    checked(&manual(&[SPLIT], r#"{"x"}"#, SPLIT, body));
}

/// Returns a program with a manual computation over the mesh `x=2, y=2`, and one in front of it over `second`, which is
/// split over the axis `z`.
fn of_two_meshes(second: &str) -> String {
    format!(
        r#"sdy.mesh @first = <["x"=2, "y"=2]>
sdy.mesh @second = <{second}>
func.func @main(%a: tensor<4xf64>) -> tensor<4xf64> {{
  %0 = sdy.manual_computation(%a) in_shardings=[<@second, [{{"z"}}]>] out_shardings=[<@second, [{{"z"}}]>] manual_axes={{"z"}} (%b: tensor<1xf64>) {{
    %1 = stablehlo.sine %b : tensor<1xf64>
    sdy.return %1 : tensor<1xf64>
  }} : (tensor<4xf64>) -> tensor<4xf64>
  %2 = sdy.manual_computation(%0) in_shardings=[<@first, [{{"x", "y"}}]>] out_shardings=[<@first, [{{"x", "y"}}]>] manual_axes={{"x", "y"}} (%b: tensor<1xf64>) {{
    %3 = stablehlo.sine %b : tensor<1xf64>
    sdy.return %3 : tensor<1xf64>
  }} : (tensor<4xf64>) -> tensor<4xf64>
  return %2 : tensor<4xf64>
}}"#
    )
}

#[test]
fn manual_computations_over_two_meshes() {
    for second in [r#"["z"=4]"#, r#"["z"=4, "w"=1]"#] {
        let module = parse(&of_two_meshes(second));
        let main = module.main().unwrap();
        assert!(jvp(&module, main, &[0]).is_ok());
        for found in [vjp(&module, main, &[0]), linearize(&module, main, &[0])] {
            let found = found.unwrap_err();
            assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["manual-mesh"], "{found}");
        }
    }
}

/// Each loop has two rounds until the axes over which its values vary are known. If each round of a loop began the loops
/// in it anew, this would not end.
#[test]
fn loops_in_loops_take_no_more_rounds() {
    const DEPTH: usize = 40;
    let loops = (0..DEPTH).rev().fold(String::new(), |inner, k| {
        let added = if k + 1 == DEPTH { "%x0".to_string() } else { format!("%w{}#1", k + 1) };
        format!(
            "%z{k} = stablehlo.constant dense<0.0> : tensor<2x3xf64>
%w{k}:2 = stablehlo.while(%i{k} = %zero, %y{k} = %z{k}) : tensor<i32>, tensor<2x3xf64> cond {{
  %t{k} = stablehlo.compare LT, %i{k}, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %t{k} : tensor<i1>
}} do {{
  %j{k} = stablehlo.add %i{k}, %one : tensor<i32>
{inner}  %s{k} = stablehlo.add %y{k}, {added} : tensor<2x3xf64>
  stablehlo.return %j{k}, %s{k} : tensor<i32>, tensor<2x3xf64>
}}
"
        )
    });
    let body = format!(
        "%zero = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
{loops}%out = stablehlo.negate %w0#1 : tensor<2x3xf64>"
    );
    let module = parse(&manual(&[SPLIT], r#"{"x"}"#, SPLIT, &body));
    vjp(&module, module.main().unwrap(), &[0]).unwrap_or_else(|e| panic!("{e}"));
}
