//! The errors of the verifier for control flow, collectives, indexing and Shardy's ops that break their constraints.

use expect_test::{Expect, expect};
use shardwise_ops::OPS;

fn found(args: &str, results: &str, body: &str) -> String {
    let text = format!("sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\nfunc.func @main({args}) -> ({results}) {{\n{body}\n}}");
    match shardwise_ir::text::parse("x.mlir", &text, &OPS) {
        Ok(module) => shardwise_ir::verify(&module).to_string(),
        Err(found) => found.to_string(),
    }
}

fn codes(args: &str, results: &str, body: &str, expected: &[&str]) {
    let text = found(args, results, body);
    let codes: Vec<&str> = text.split("error[").skip(1).map(|d| d.split(']').next().unwrap()).collect();
    assert_eq!(codes, expected, "{text}");
}

fn step(from: &str, op: &str, axes: &str, to: &str) -> String {
    found(
        &format!("%x: tensor<8x8xf32> {{sdy.sharding = #sdy.sharding<@mesh, {from}>}}"),
        "tensor<8x8xf32>",
        &format!("%0 = sdy.{op} {axes} %x out_sharding=<@mesh, {to}> : tensor<8x8xf32>\nreturn %0 : tensor<8x8xf32>"),
    )
}

fn refused(from: &str, op: &str, axes: &str, to: &str, message: &str) {
    let text = step(from, op, axes, to);
    assert!(text.contains(message), "{text}");
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(text);
}

#[test]
fn a_collective_says_what_does_not_fit() {
    check(
        &step(r#"[{"x"}, {}]"#, "all_gather", r#"[{"y"}, {}]"#, "[{}, {}]"),
        expect![[r#"
            error[sdy-collective-axes]: `sdy.all_gather`: gathers {"y"} along dimension 0, whose axes, {"x"}, do not end with them
              --> x.mlir:3:1
               | (tensor<8x8xf32>) -> (tensor<8x8xf32>)"#]],
    );
    check(
        &step(r#"[{"x"}, {}]"#, "all_slice", r#"[{}, {"y"}]"#, r#"[{"x", "y"}, {}]"#),
        expect![[r#"
            error[sdy-collective-result]: `sdy.all_slice`: from <@mesh, [{"x"}, {}]> it leads to <@mesh, [{"x"}, {"y"}]>, and the result has <@mesh, [{"x", "y"}, {}]>
              --> x.mlir:3:1
               | (tensor<8x8xf32>) -> (tensor<8x8xf32>)"#]],
    );
}

#[test]
fn collectives_take_only_axes_that_are_there() {
    let (x, xy, whole) = (r#"[{"x"}, {}]"#, r#"[{"x", "y"}, {}]"#, "[{}, {}]");
    assert_eq!(step(xy, "all_gather", r#"[{"y"}, {}]"#, x), "");
    assert_eq!(step(xy, "all_gather", r#"[{"y":(2)2}, {}]"#, r#"[{"x", "y":(1)2}, {}]"#), "");
    refused(xy, "all_gather", r#"[{"x"}, {}]"#, r#"[{"y"}, {}]"#, "gathers {\"x\"} along dimension 0");
    refused(r#"[{"y"}, {}]"#, "all_gather", r#"[{"x", "y"}, {}]"#, whole, "whose axes, {\"y\"}, do not end with them");
    refused(xy, "all_slice", r#"[{}, {"y"}]"#, r#"[{"x", "y"}, {"y"}]"#, "axis \"y\" is used twice");
    refused(xy, "all_slice", r#"[{}, {"y"}]"#, xy, "slices along \"y\", which");
    refused(x, "all_to_all", r#"[{"y"}: 0->1]"#, whole, "moves {\"y\"} along dimension 0");
    refused(x, "all_to_all", r#"[{"x"}: 0->1]"#, x, "it leads to <@mesh, [{}, {\"x\"}]>");
    refused(x, "all_reduce", r#"{"x"}"#, whole, "reduces over \"x\", which splits a dimension");
    refused(x, "collective_permute", "", r#"[{"y"}, {}]"#, "the dimensions have [2, 1] shards before and [4, 1] after");
    refused(x, "replicated_to_unreduced", r#"{"x"}"#, x, "makes a sum over \"x\", which");
    assert_eq!(step(x, "replicated_to_unreduced", r#"{"y"}"#, r#"[{"x"}, {}], unreduced={"y"}"#), "");
}

#[test]
fn shardings_name_an_axis_once_and_have_the_rank() {
    let constraint = |sharding: &str| {
        let body =
            format!("%0 = sdy.sharding_constraint %x <@mesh, {sharding}> : tensor<8xf32>\nreturn %0 : tensor<8xf32>");
        found("%x: tensor<8xf32>", "tensor<8xf32>", &body)
    };
    assert_eq!(constraint(r#"[{"x", ?}]"#), "");
    assert!(constraint(r#"[{"x"}], replicated={"x"}"#).contains("axis \"x\" is used twice"));
    assert!(constraint(r#"[{"x"}, {}]"#).contains("2 dimensions"));
}

#[test]
fn manual_regions_have_the_local_types() {
    let manual = |shardings: &str, axes: &str, local: &str| {
        let body = format!(
            "%0 = sdy.manual_computation(%x) in_shardings=[{shardings}] out_shardings=[{shardings}] manual_axes={{{axes}}} (%y: tensor<{local}xf32>) {{\n\
             sdy.return %y : tensor<{local}xf32>\n}} : (tensor<8xf32>) -> tensor<8xf32>\nreturn %0 : tensor<8xf32>"
        );
        found("%x: tensor<8xf32>", "tensor<8xf32>", &body)
    };
    assert_eq!(manual(r#"<@mesh, [{"x"}]>"#, r#""x""#, "4"), "");
    assert_eq!(manual(r#"<@mesh, [{"x", "y"}]>"#, r#""x""#, "4"), "");
    assert!(manual(r#"<@mesh, [{"x"}]>"#, r#""x""#, "8").contains("is tensor<4xf32>, and the body has tensor<8xf32>"));
    assert!(manual(r#"<@mesh, [{"y", "x"}]>"#, r#""x""#, "4").contains("manual axes must come first"));
    assert!(manual(r#"<@mesh, [{"x"}]>"#, r#""x", "x""#, "4").contains("axis \"x\" is used twice"));
    let integers = "sdy.manual_computation(%x) in_shardings=[<@mesh, [{\"x\"}]>] out_shardings=[] manual_axes={\"x\"} (%y: tensor<4xi32>) {\n\
                    sdy.return\n} : (tensor<8xf32>) -> ()\nreturn %x : tensor<8xf32>";
    let text = found("%x: tensor<8xf32>", "tensor<8xf32>", integers);
    assert!(text.contains("is tensor<4xf32>, and the body has tensor<4xi32>"), "{text}");
}

#[test]
fn manual_axes_are_no_axes_within() {
    let within = |op: &str| {
        let body = format!(
            "%0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{{\"x\"}}]>] out_shardings=[<@mesh, [{{\"x\"}}]>] manual_axes={{\"x\"}} (%y: tensor<4xf32>) {{\n\
             {op}\nsdy.return %1 : tensor<4xf32>\n}} : (tensor<8xf32>) -> tensor<8xf32>\nreturn %0 : tensor<8xf32>"
        );
        found("%x: tensor<8xf32>", "tensor<8xf32>", &body)
    };
    let nested = |axes: &str, sharding: &str| {
        format!(
            "%1 = sdy.manual_computation(%y) in_shardings=[<@mesh, {sharding}>] out_shardings=[<@mesh, {sharding}>] manual_axes={{{axes}}} (%z: tensor<4xf32>) {{\n\
             sdy.return %z : tensor<4xf32>\n}} : (tensor<4xf32>) -> tensor<4xf32>"
        )
    };
    let constraint = |axis: &str| format!("%1 = sdy.sharding_constraint %y <@mesh, [{{\"{axis}\"}}]> : tensor<4xf32>");
    assert_eq!(within(&constraint("y")), "");
    assert_eq!(within(&nested(r#""y""#, "[{}]")), "");
    let sum = r#"%1 = sdy.all_reduce {"x"} %y out_sharding=<@mesh, [{}]> : tensor<4xf32>"#.to_string();
    for op in [constraint("x"), nested(r#""x""#, "[{}]"), nested(r#""y""#, r#"[{"x"}]"#), sum] {
        let text = within(&op);
        assert!(
            text.starts_with("error[sdy-manual-bound]") && text.contains("axis \"x\" is manual around it"),
            "{text}"
        );
    }
    check(
        &within(
            "%1 = stablehlo.negate %y {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{\"x\"}]>]>} : tensor<4xf32>",
        ),
        expect![[r#"
            error[sdy-manual-bound]: `stablehlo.negate`: axis "x" is manual around it already
              --> x.mlir:4:1
               | (tensor<4xf32>) -> (tensor<4xf32>)"#]],
    );
}

#[test]
fn loops_carry_what_they_take() {
    let body = |gives: &str| {
        format!(
            "%0 = stablehlo.while(%i = %x) : tensor<i32>\ncond {{\n\
             %p = stablehlo.compare LT, %i, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n\
             stablehlo.return %p : tensor<i1>\n}} do {{\n{gives}\n}}\nreturn %0 : tensor<i32>"
        )
    };
    let good = "stablehlo.return %i : tensor<i32>";
    let bad = "%c = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>\nstablehlo.return %c : tensor<f32>";
    codes("%x: tensor<i32>", "tensor<i32>", &body(good), &[]);
    codes("%x: tensor<i32>", "tensor<i32>", &body(bad), &["while_c2"]);
}

#[test]
fn groups_of_an_unknown_size_and_without_processes_are_told_apart() {
    let gather = |groups: &str| {
        let text = format!(
            "func.func @main(%x: tensor<2xf32>) -> tensor<4xf32> {{\n\
             %0 = \"stablehlo.all_gather\"(%x) <{{all_gather_dim = 0 : i64, replica_groups = dense<{groups}xi64>}}> : (tensor<2xf32>) -> tensor<4xf32>\n\
             return %0 : tensor<4xf32>\n}}"
        );
        let module = shardwise_ir::text::parse("x.mlir", &text, &OPS).unwrap();
        shardwise_ir::verify(&module).to_string()
    };
    let unknown = gather("> : tensor<0x0");
    assert!(unknown.contains("must be known: list the processes in `replica_groups`, or give the module"), "{unknown}");
    let empty = gather("-1> : tensor<1x2");
    assert!(empty.contains("each group must have at least one process") && !empty.contains("known"), "{empty}");
}

#[test]
fn groups_and_pairs_name_a_process_once() {
    let gather = |groups: &str, dim: usize| {
        format!(
            "%0 = \"stablehlo.all_gather\"(%x) <{{all_gather_dim = {dim} : i64, replica_groups = dense<{groups}> : tensor<2x2xi64>}}> : (tensor<2xf32>) -> tensor<4xf32>\n\
             return %0 : tensor<4xf32>"
        )
    };
    let check = |body: &str, expected: &[&str]| codes("%x: tensor<2xf32>", "tensor<4xf32>", body, expected);
    check(&gather("[[0, 1], [2, 3]]", 0), &[]);
    check(&gather("[[0, 1], [1, 3]]", 0), &["all_gather_c2"]);
    check(&gather("[[0, 1], [2, -1]]", 0), &["all_gather_c3"]);
    check(&gather("[[0, 1], [2, 3]]", 1), &["all_gather_c1"]);
    let permute = |pairs: &str| {
        format!(
            "%0 = \"stablehlo.collective_permute\"(%x) <{{source_target_pairs = dense<{pairs}> : tensor<2x2xi64>}}> : (tensor<2xf32>) -> tensor<2xf32>\n\
             return %0 : tensor<2xf32>"
        )
    };
    let check = |body: &str, expected: &[&str]| codes("%x: tensor<2xf32>", "tensor<2xf32>", body, expected);
    check(&permute("[[0, 1], [1, 0]]"), &[]);
    check(&permute("[[0, 1], [0, 2]]"), &["collective_permute_c2"]);
    check(&permute("[[0, 1], [2, 1]]"), &["collective_permute_c3"]);
}

/// Returns the text of the attribute with these axes: `x`, or `y(1)2` for a part of one.
fn mesh_axes(axes: &[&str]) -> String {
    let axis = |a: &&str| match a.split_at(1) {
        (name, "") => format!("#stablehlo.axis_ref<name = \"{name}\">"),
        (name, part) => format!("#stablehlo.axis_ref<name = \"{name}\", sub_axis_info = {part}>"),
    };
    let axes: Vec<String> = axes.iter().map(axis).collect();
    format!("#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [{}]>", axes.join(", "))
}

#[test]
fn permutes_over_axes_name_axes_that_fit() {
    let check = |attrs: &str, expected: &[&str]| {
        let body = format!(
            "%0 = \"stablehlo.collective_permute\"(%x) {{{attrs}}} : (tensor<2xf32>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>"
        );
        codes("%x: tensor<2xf32>", "tensor<2xf32>", &body, expected);
    };
    let shift = |axes: &[&str], by: &str| format!("shardwise.axes = {}, shardwise.shift = {by}", mesh_axes(axes));
    let reorder =
        |from: &[&str], to: &[&str]| format!("shardwise.from = {}, shardwise.to = {}", mesh_axes(from), mesh_axes(to));
    check(&shift(&["y"], "3, shardwise.wraps"), &[]);
    check(&shift(&["x", "y"], "-7"), &[]);
    check(&reorder(&["x", "y"], &["y", "x"]), &[]);
    check(&reorder(&["x", "y(2)2", "y(1)2"], &["y", "x"]), &[]);
    let (unread, misfit) = (&["collective_permute_c1"], &["collective_permute_c4"]);
    check("", unread);
    check(&shift(&["y"], "\"one\""), &["op-attribute"]);
    check("shardwise.shift = 1", unread);
    check("shardwise.axes = 1, shardwise.shift = 1", &["op-attribute"]);
    check(&format!("shardwise.from = {}", mesh_axes(&["x"])), unread);
    check(&format!("{}, {}", shift(&["y"], "1"), reorder(&["x"], &["x"])), unread);
    check(&format!("{}, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>", shift(&["y"], "1")), unread);
    for by in ["4", "-4, shardwise.wraps", "-9223372036854775808"] {
        check(&shift(&["y"], by), misfit);
    }
    check(&shift(&["y(1)2", "y(1)2"], "1"), misfit);
    for (from, to) in [(["x"].as_slice(), ["y"].as_slice()), (&["x"], &["x", "y"]), (&["x"], &["y(1)2"])] {
        check(&reorder(from, to), misfit);
    }
    let outside = "source_target_pairs = dense<[[0, 4]]> : tensor<1x2xi64>";
    check(&format!("shardwise.axes = {}, {outside}", mesh_axes(&["y"])), misfit);
}

#[test]
fn a_region_without_its_return_is_reported_once() {
    let check = |body: &str, expected: &str| {
        codes("%x: tensor<8xf32>, %i: tensor<i1>", "tensor<8xf32>", body, &[expected]);
    };
    let branch = |last: &str| {
        format!(
            "%0 = \"stablehlo.if\"(%i) ({{
               stablehlo.return %x : tensor<8xf32>
             }}, {{
               {last}
             }}) : (tensor<i1>) -> tensor<8xf32>
             return %0 : tensor<8xf32>"
        )
    };
    check("", "region-terminator");
    check("%0 = stablehlo.add %x, %x : tensor<8xf32>", "region-terminator");
    check("return %x : tensor<8xf32>\n%0 = stablehlo.add %x, %x : tensor<8xf32>", "region-terminator");
    check(&branch("%1 = stablehlo.add %x, %x : tensor<8xf32>"), "region-terminator");
    check(&branch("stablehlo.return %i : tensor<i1>"), "if_c2");
    check(&branch("sdy.return %x : tensor<8xf32>"), "region-terminator");
    check(&branch("func.return %x : tensor<8xf32>"), "region-terminator");
    check("sdy.return %x : tensor<8xf32>", "region-terminator");
    // JAX ends functions like this.
    codes("%x: tensor<8xf32>", "tensor<8xf32>", "stablehlo.return %x : tensor<8xf32>", &[]);
}

#[test]
fn gather_has_consistent_dimension_numbers() {
    let gather = |dims: &str, sizes: &str| {
        let body = format!(
            "%0 = \"stablehlo.gather\"(%x, %i) <{{dimension_numbers = #stablehlo.gather<{dims}>, slice_sizes = array<i64: {sizes}>}}> : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>\n\
             return %0 : tensor<2x3xf32>"
        );
        found("%x: tensor<5x3xf32>, %i: tensor<2x1xi32>", "tensor<2x3xf32>", &body)
    };
    let has = |text: String, code: &str| assert!(text.contains(&format!("error[{code}]")), "{text}");
    let good = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1";
    assert_eq!(gather(good, "1, 3"), "");
    has(gather(good, "2, 3"), "gather_c9");
    has(gather(good, "1, 4"), "gather_c21");
    has(gather(good, "1"), "gather_c20");
    has(gather("offset_dims = [1], start_index_map = [0], index_vector_dim = 1", "1, 3"), "gather_c1");
    has(
        gather("offset_dims = [1], collapsed_slice_dims = [7], start_index_map = [0], index_vector_dim = 1", "1, 3"),
        "gather_c8",
    );
    has(
        gather("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1", "1, 3"),
        "gather_c3",
    );
    has(
        gather("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3", "1, 3"),
        "gather_c2",
    );
    has(
        gather("offset_dims = [9], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 3"),
        "gather_c5",
    );
}

fn after_start(rest: &str) -> String {
    let body = format!(
        "%f = \"stablehlo.async_start\"(%x) ({{
^bb0(%a: tensor<4xf32>):
  %p = \"stablehlo.collective_permute\"(%a) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}}> : (tensor<4xf32>) -> tensor<4xf32>
  stablehlo.return %p : tensor<4xf32>
}}) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
{rest}"
    );
    found("%x: tensor<4xf32>, %c: tensor<i32>", "tensor<4xf32>", &body)
}

#[test]
fn a_future_is_used_exactly_once() {
    const DONE: &str = "\"stablehlo.async_done\"(%f) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>";
    check(&after_start(&format!("%0 = {DONE}\nreturn %0 : tensor<4xf32>")), expect![""]);
    check(
        &after_start("return %x : tensor<4xf32>"),
        expect![[r#"
            error[future-unfinished]: this future is not used in the region that defines it
              --> x.mlir:3:1
               = help: use the future once, in the same region: `stablehlo.async_done`"#]],
    );
    check(
        &after_start(&format!("%0 = {DONE}\n%1 = {DONE}\nreturn %1 : tensor<4xf32>")),
        expect![[r#"
            error[future-twice]: `stablehlo.async_done` uses a future that has already been used
              --> x.mlir:9:1
               = help: use the result of the first `stablehlo.async_done`
               = note: it was started at x.mlir:3:1"#]],
    );
    let branch = format!("%0 = {DONE}\n  stablehlo.return %0 : tensor<4xf32>");
    check(
        &after_start(&format!(
            "%1 = \"stablehlo.case\"(%c) ({{\n  {branch}\n}}) : (tensor<i32>) -> tensor<4xf32>\nreturn %1 : tensor<4xf32>"
        )),
        expect![[r#"
            error[future-elsewhere]: `stablehlo.async_done` uses a future from outside of its region
              --> x.mlir:9:3
               = help: finish the future where it was started, and use the result here
               = note: it was started at x.mlir:3:1
            error[future-unfinished]: this future is not used in the region that defines it
              --> x.mlir:3:1
               = help: use the future once, in the same region: `stablehlo.async_done`"#]],
    );
}

#[test]
fn a_collective_or_a_slice_can_be_started() {
    let start = |op: &str| {
        let body = format!(
            "%f = \"stablehlo.async_start\"(%x) ({{
^bb0(%a: tensor<8x8xf32>):
  %p = {op}
  stablehlo.return %p : tensor<8x8xf32>
}}) : (tensor<8x8xf32>) -> !stablehlo.future<tensor<8x8xf32>>
%0 = \"stablehlo.async_done\"(%f) : (!stablehlo.future<tensor<8x8xf32>>) -> tensor<8x8xf32>
return %0 : tensor<8x8xf32>"
        );
        let sharded = "%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}";
        found(sharded, "tensor<8x8xf32>", &body)
    };
    assert_eq!(start("stablehlo.slice %a [0:8, 0:8] : (tensor<8x8xf32>) -> tensor<8x8xf32>"), "");
    let text = start(r#"sdy.all_slice [{"x"}, {}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>"#);
    assert!(text.contains("error[async_start_c2]"), "{text}");
    let text = start("stablehlo.negate %a : tensor<8x8xf32>");
    assert!(text.contains("error[async_start_c2]"), "{text}");
}
