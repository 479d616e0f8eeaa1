//! Explanations of communication: the reasons, the layouts that the search changed, and lower bounds.

use expect_test::{Expect, expect};
use shardwise_ir::{Module, text};
use shardwise_ops::OPS;
use shardwise_spmd::{Options, communication, partition};

fn module(source: &str) -> Module {
    text::parse("program.mlir", source, &OPS).unwrap_or_else(|e| panic!("{e}"))
}

/// Checks that the report on the communication of a program is `expected`, that the partitioned program has an equal
/// report after it is printed and parsed, and that there are no warnings. Panics otherwise.
fn check(source: &str, expected: Expect) {
    let partitioned = partition(&module(source), &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(partitioned.warnings.is_empty(), "{}", partitioned.warnings);
    expected.assert_eq(&partitioned.communication.to_string());
    let printed = text::print(&partitioned.module, &Default::default());
    assert_eq!(communication(&module(&printed)).to_string(), partitioned.communication.to_string());
}

#[test]
fn a_layout_that_the_search_changed_is_named() {
    let chain = include_str!("../filetests/reshard/layouts_chain.mlir").split("// ----").next().unwrap();
    check(
        chain,
        expect![[r#"
            kind        axes  local type             received  over the mesh  times  for
            all-to-all  x     f32[16,2] -> f32[4,8]  96 B      384 B          1      add at program.mlir:7:3
              why: `add` runs with factor i over {"x"}, as operand 0 [{"x"}, {}] has it, and operand 1 is [{}, {"x"}]; operand 1 is argument 2 of the function
              instead of: i whole, j over {"x"}, 192 B
              least: 96 B from [{}, {"x"}] to [{"x"}, {}]
              layout: operand 0 is [{"x"}, {}], where propagation had [{}, {"x"}]: the ops around it and 4 values that changed with it receive about 480 B instead of 576 B
            all-reduce  x     f32[8,8]               384 B     1.5 KiB        1      dot_general at program.mlir:9:3
              why: `dot_general` reduces factor k, which is split over {"x"}: partial results are combined
              instead of: j over {"x"}, k whole, 672 B
              least: 384 B to combine these values
              layout: operand 0 is [{"x"}, {}], where propagation had [{}, {"x"}]: the ops around it and 4 values that changed with it receive about 480 B instead of 576 B
              layout: result 0 is [{}, {}], where propagation had [{"x"}, {}]: the ops around it and 4 values that changed with it receive about 480 B instead of 576 B
            in all: 480 B received by the worst device, 1.9 KiB over the mesh
            least for these moves: 480 B
        "#]],
    );
    let accumulated = include_str!("../filetests/reshard/layouts_accumulated.mlir").split("// ----").next().unwrap();
    check(
        accumulated,
        expect![[r#"
            kind        axes  local type  received  over the mesh  times  for
            all-reduce  x     f32[8,8]    384 B     1.5 KiB        1      return at program.mlir:19:3
              why: result 0 of the function is [{}, {}], and the value is [{}, {}] unreduced {"x"}
              least: 384 B to combine these values
              layout: the value is [{}, {}] unreduced {"x"}, where propagation had [{}, {}]: the ops around it and 4 values that changed with it receive about 384 B instead of 1.9 KiB
            in all: 384 B received by the worst device, 1.5 KiB over the mesh
            least for these moves: 384 B
        "#]],
    );
}

#[test]
fn bytes_over_a_large_mesh_are_counted_up_to_the_largest_number() {
    let found = communication(&module(
        r#"sdy.mesh @mesh = <["x"=1048576]>
func.func @main(%a: tensor<4398046511104xf32>) -> tensor<4398046511104xf32> {
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4398046511104xf32>) -> tensor<4398046511104xf32>
  return %0 : tensor<4398046511104xf32>
}"#,
    ));
    assert_eq!((found.bytes_received(), found.bytes_total()), (2 * ((1 << 44) - (1 << 24)), u64::MAX));
}

#[test]
fn only_listed_devices_receive() {
    let total = |groups: &str| {
        let channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
        let found = communication(&module(&format!(
            r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = "stablehlo.collective_broadcast"(%a) <{{{channel}, replica_groups = dense<{groups}>}}> : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}"#
        )));
        (found.bytes_received(), found.bytes_total())
    };
    assert_eq!(total("[[0], [3]]> : tensor<2x1xi64"), (0, 0));
    assert_eq!(total("[[0, 1]]> : tensor<1x2xi64"), (32, 32));
    assert_eq!(total("[[0, 1], [3, -1]]> : tensor<2x2xi64"), (32, 32));
    assert_eq!(total("[[0, 1], [3, 2]]> : tensor<2x2xi64"), (32, 64));
}

#[test]
fn an_argument_that_is_returned_in_another_layout_has_to_move() {
    check(
        r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  return %x : tensor<8x8xf32>
}"#,
        expect![[r#"
            kind        axes  local type            received  over the mesh  times  for
            all-to-all  x     f32[4,8] -> f32[8,4]  64 B      256 B          1      return at program.mlir:4:3
              why: result 0 of the function is [{}, {"x"}], and argument 0 of the function is [{"x"}, {}]
              least: 64 B from [{"x"}, {}] to [{}, {"x"}]
            in all: 64 B received by the worst device, 256 B over the mesh
            least for these moves: 64 B
            least with these arguments, constraints and results: 64 B
        "#]],
    );
}

#[test]
fn a_constraint_is_named_and_forces_what_an_argument_lacks() {
    check(
        r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %0 = sdy.sharding_constraint %x <@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
  %1 = stablehlo.negate %0 : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %0 <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
  %3 = stablehlo.add %1, %2 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}"#,
        expect![[r#"
            kind                axes  local type            received  over the mesh  times  for
            collective-permute  x,y   f32[1,1,2,1,4]        32 B      64 B           1      sharding_constraint at program.mlir:4:3
              why: the layout that `sharding_constraint` asks for is [{"y"}, {"x"}], and argument 0 of the function is [{"x", "y"}, {}]
              least: 64 B from [{"x", "y"}, {}] to [{"y"}, {"x"}]
            collective-permute  y,x   f32[1,1,2,1,4]        32 B      128 B          1      sharding_constraint at program.mlir:4:3
              why: the layout that `sharding_constraint` asks for is [{"y"}, {"x"}], and argument 0 of the function is [{"x", "y"}, {}]
              least: counted above, for the whole reshard
            collective-permute  x,y   f32[4,4]              64 B      128 B          1      negate at program.mlir:5:3
              why: what several ops read is [{}, {"y"}], and the value is [{"y"}, {"x"}]
              least: 128 B from [{"y"}, {"x"}] to [{}, {"y"}]
              layout: what several ops read is [{}, {"y"}], where propagation had [{"y"}, {"x"}]: the ops around it and another value that changed with it receive about 160 B instead of 224 B
            all-gather          x     f32[4,4] -> f32[8,4]  64 B      256 B          1      negate at program.mlir:5:3
              why: what several ops read is [{}, {"y"}], and the value is [{"y"}, {"x"}]
              least: counted above, for the whole reshard
            all-to-all          y     f32[4,4] -> f32[2,8]  32 B      128 B          1      add at program.mlir:7:3
              why: result 0 of `add` is computed as [{"x"}, {"y"}] and wanted as [{"x", "y"}, {}]; it is result 0 of the function
              least: 32 B from [{"x"}, {"y"}] to [{"x", "y"}, {}]
            in all: 224 B received by the worst device, 704 B over the mesh
            least for these moves: 224 B
            least with these arguments, constraints and results: 64 B
        "#]],
    );
}

#[test]
fn a_reshard_in_several_collectives_has_one_bound() {
    check(
        r#"
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @main(%x: tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {"z"}]>}) -> (tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.negate %x : tensor<8x8x8xf32>
  return %0 : tensor<8x8x8xf32>
}"#,
        expect![[r#"
            kind                axes  local type                received  over the mesh  times  for
            collective-permute  x,y   f32[4,4,4]                256 B     1 KiB          1      return at program.mlir:5:3
              why: result 0 of the function is [{}, {"x"}, {}], and the value is [{"x"}, {"y"}, {"z"}]
              least: 1 KiB from [{"x"}, {"y"}, {"z"}] to [{}, {"x"}, {}]
              layout: the value is [{"x"}, {"y"}, {"z"}], where propagation had [{}, {"x"}, {"z"}]: the ops around it receive about 1 KiB with both, in fewer collectives or with less work
            all-gather          y     f32[4,4,4] -> f32[8,4,4]  256 B     2 KiB          1      return at program.mlir:5:3
              why: result 0 of the function is [{}, {"x"}, {}], and the value is [{"x"}, {"y"}, {"z"}]
              least: counted above, for the whole reshard
            all-gather          z     f32[8,4,4] -> f32[8,4,8]  512 B     4 KiB          1      return at program.mlir:5:3
              why: result 0 of the function is [{}, {"x"}, {}], and the value is [{"x"}, {"y"}, {"z"}]
              least: counted above, for the whole reshard
            in all: 1 KiB received by the worst device, 7 KiB over the mesh
            least for these moves: 1 KiB
        "#]],
    );
}

#[test]
fn the_least_of_a_sum_in_parts_is_not_known_for_more_than_two_devices() {
    check(
        r#"
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<7x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<7x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<7x8xf32>, tensor<8x8xf32>) -> tensor<7x8xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<7x8xf32>
  return %1 : tensor<7x8xf32>
}"#,
        expect![[r#"
            kind            axes  local type            received  over the mesh  times  for
            reduce-scatter  x     f32[8,8] -> f32[2,8]  192 B     768 B          1      dot_general at program.mlir:4:3
              why: `dot_general` reduces factor k, which is split over {"x"}: partial results are combined; each device sums only its part: result 0 of `dot_general` is computed as [{}, {}] and wanted as [{"x"}, {}]
              instead of: j over {"x"}, k whole, 264 B
            in all: 192 B received by the worst device, 768 B over the mesh
        "#]],
    );
}

#[test]
fn a_reason_for_a_sum_and_for_its_parts_is_stated_once() {
    let source = r#"
sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main(%a: tensor<7x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}, %b: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<7x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<7x6xf32>, tensor<6x4xf32>) -> tensor<7x4xf32>
  return %0 : tensor<7x4xf32>
}"#;
    let partitioned = partition(&module(source), &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let text = partitioned.communication.to_string();
    assert!(text.contains("each device sums only its part\n"), "{text}");
}

#[test]
fn the_layout_of_a_carried_value_is_named() {
    let looped = include_str!("../filetests/reshard/while.mlir").split("// ----").next().unwrap();
    check(
        looped,
        expect![[r#"
            kind                axes  local type  received  over the mesh  times  for
            collective-permute  x,y   f32[4]      16 B      32 B           1      while at program.mlir:6:3
              why: operand 1 of `while` is [{"y"}], and argument 0 of the function is [{"x"}]
              least: 16 B from [{"x"}] to [{"y"}]
            in all: 16 B received by the worst device, 32 B over the mesh
            least for these moves: 16 B
        "#]],
    );
}

#[test]
fn a_reason_names_the_boundary_that_forced_it() {
    check(
        r#"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @Opaque(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%arg: tensor<4x8xf32>) {
    %4 = stablehlo.slice %arg [0:4, 0:4] : (tensor<4x8xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.concatenate %4, %4, dim = 0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    sdy.return %5 : tensor<8x4xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.add %2, %w : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}"#,
        expect![[r#"
            kind                axes  local type            received  over the mesh  times  for
            all-gather          x     f32[4,4] -> f32[8,4]  64 B      256 B          1      dot_general at program.mlir:4:3
              why: `dot_general` runs with factor j over {"y"}, as result 0 [{"x"}, {"y"}] has it, and operand 1 is [{"x"}, {}]; operand 1 is argument 1 of the function
              instead of: i whole, j over {"y"}, k over {"x"}, 128 B
              least: 64 B from [{"x"}, {}] to [{}, {"y"}]
              layout: result 0 is [{"x"}, {"y"}], where propagation had [{"x"}, {}]: the ops around it receive about 256 B with both, in fewer collectives or with less work
            all-gather          x     f32[4,4] -> f32[8,4]  64 B      256 B          1      custom_call at program.mlir:5:3
              why: operand 0 of `custom_call`, which runs unsplit, is [{}, {}], and the value is [{"x"}, {"y"}]
              least: 192 B from [{"x"}, {"y"}] to [{}, {}]
              layout: the value is [{"x"}, {"y"}], where propagation had [{"x"}, {}]: the ops around it receive about 256 B with both, in fewer collectives or with less work
            all-gather          y     f32[8,4] -> f32[8,8]  128 B     512 B          1      custom_call at program.mlir:5:3
              why: operand 0 of `custom_call`, which runs unsplit, is [{}, {}], and the value is [{"x"}, {"y"}]
              least: counted above, for the whole reshard
            collective-permute  x,y   f32[4,4]              64 B      128 B          1      add at program.mlir:11:3
              why: result 0 of `add` is computed as [{"x"}, {"y"}] and wanted as [{}, {"x"}]; it is result 0 of the function
              least: 128 B from [{"x"}, {"y"}] to [{}, {"x"}]
            all-gather          y     f32[4,4] -> f32[8,4]  64 B      256 B          1      add at program.mlir:11:3
              why: result 0 of `add` is computed as [{"x"}, {"y"}] and wanted as [{}, {"x"}]; it is result 0 of the function
              least: counted above, for the whole reshard
            in all: 384 B received by the worst device, 1.4 KiB over the mesh
            least for these moves: 384 B
        "#]],
    );
}

#[test]
fn the_report_on_the_front_page_is_printed() {
    const NAME: &str = "testdata/corpus/control/scan_rnn.mlir";
    let source = include_str!("../../../../testdata/corpus/control/scan_rnn.mlir");
    let module = text::parse(NAME, source, &OPS).unwrap_or_else(|e| panic!("{e}"));
    let partitioned = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let report = format!("```text\n{}```\n", partitioned.communication);
    assert!(include_str!("../../../../README.md").contains(&report), "{report}");
}

/// Tests that products of one argument share its gather, and that the gather has the location of the argument.
#[test]
fn several_readers_share_one_move() {
    let sharded = |dims: &str| format!("{{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}");
    let (rows, columns) = (sharded("{\"x\"}, {}"), sharded("{}, {\"x\"}"));
    let names = ["a", "b", "c", "d"];
    let args = names.map(|w| format!("%{w}: tensor<32x32xf32> {columns}")).join(", ");
    let results = names.map(|_| format!("tensor<32x32xf32> {columns}")).join(", ");
    let product = |w: &str| {
        format!(
            "  %x{w} = stablehlo.dot_general %x, %{w}, contracting_dims = [1] x [0] : \
             (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>\n"
        )
    };
    let source = format!(
        "sdy.mesh @mesh = <[\"x\"=8]>\nfunc.func @main(%x: tensor<32x32xf32> {rows}, {args}) -> ({results}) {{\n{}  \
         return %xa, %xb, %xc, %xd : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>\n}}",
        names.map(product).concat()
    );
    let partitioned = partition(&module(&source), &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(partitioned.communication.bytes_received(), 3584);
    let body = &partitioned.module.main().unwrap().body;
    let moved: Vec<_> = body.walk().into_iter().filter(|&op| body[op].reason.is_some()).collect();
    assert_eq!(moved.len(), 1);
    assert_eq!(body[moved[0]].loc, body.value(body.args()[0]).loc);
    assert!(!body[moved[0]].loc.is_unknown());
}
