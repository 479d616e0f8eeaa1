//! The bytes in reasons, which are priced when a reshard is decided, and in the table of communication, which is read
//! off the finished program, are the same.

use shardwise_ir::text::parse;
use shardwise_ops::OPS;
use shardwise_ops::collective::Groups;
use shardwise_spmd::{Options, Row, partition};

const DIMS: [&str; 5] = ["{}", "{\"x\"}", "{\"y\"}", "{\"x\", \"y\"}", "{\"y\", \"x\"}"];

fn layouts() -> Vec<String> {
    let pairs = DIMS.iter().flat_map(|a| DIMS.iter().map(move |b| [*a, *b]));
    let uses = |layout: &[&str; 2], axis: &str| layout.iter().filter(|dim| dim.contains(axis)).count();
    let fits = pairs.filter(|layout| ["x", "y"].iter().all(|axis| uses(layout, axis) < 2));
    fits.map(|[a, b]| format!("#sdy.sharding<@mesh, [{a}, {b}]>")).collect()
}

#[test]
fn of_reshards() {
    let layouts = layouts();
    let mut compared = 0;
    for (from, to) in layouts.iter().flat_map(|a| layouts.iter().map(move |b| (a, b))) {
        let text = format!(
            "sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>
func.func @main(%a: tensor<16x32xf32> {{sdy.sharding = {from}}}) -> (tensor<16x32xf32> {{sdy.sharding = {to}}}) {{
  return %a : tensor<16x32xf32>
}}"
        );
        let module = parse("test.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}"));
        let table = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}")).communication;
        let received: u64 = table.rows.iter().map(|row| row.bytes_received).sum();
        let decided =
            table.rows.first().map_or(0, |row| row.reason.as_ref().expect("a reshard has one").bytes_received);
        assert_eq!(received, decided, "{from} to {to}\n{table}");
        compared += usize::from(received > 0);
    }
    assert!(compared > 80, "only {compared} reshards moved data");
}

/// Tests that a permutation and its inverse move nothing together.
#[test]
fn of_permutations_there_and_back() {
    let text = "sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{\"y\"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}";
    let module = parse("test.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}"));
    let partitioned = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(partitioned.communication.rows.is_empty(), "{}", partitioned.communication);
}

/// Tests that a product moves less along an axis, the slower it is.
#[test]
fn of_bytes_along_slow_axes() {
    let along_slow = |slowdown: u64| {
        let rates = format!(
            "{{slowdowns = array<i64: {slowdown}, 1>, start = 64 : i64, flops = 2000 : i64, memory_bytes = 24 : i64}}"
        );
        let text = format!(
            "sdy.mesh @mesh = <[\"slow\"=4, \"fast\"=4]> {{shardwise.rates = {rates}}}
func.func @main(%a: tensor<256x512xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"fast\"}}, {{\"slow\"}}]>}},
    %b: tensor<512x1024xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"fast\"}}, {{}}]>}})
    -> (tensor<256x1024xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"fast\"}}, {{}}]>}}) {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x1024xf32>) -> tensor<256x1024xf32>
  return %0 : tensor<256x1024xf32>
}}"
        );
        let module = parse("test.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}"));
        let table = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}")).communication;
        let is_along_slow = |row: &&Row| match &row.groups {
            Groups::Axes { axes, .. } => axes.iter().any(|axis| axis.axis.index() == 0),
            _ => true,
        };
        table.rows.iter().filter(is_along_slow).map(|row| row.bytes_received).sum::<u64>()
    };
    let bytes = [1, 3, 20].map(along_slow);
    assert!(bytes.is_sorted_by(|a, b| a >= b) && bytes[2] < bytes[0], "{bytes:?}");
}

/// Tests that rows which three ops read from neighbours are gathered at once if starting a collective takes long.
#[test]
fn of_starts() {
    let collectives = |start: u64| {
        let rates = format!(
            "{{slowdowns = array<i64: 1>, start = {start} : i64, flops = 2000 : i64, memory_bytes = 24 : i64}}"
        );
        let text = format!(
            "sdy.mesh @mesh = <[\"x\"=4]> {{shardwise.rates = {rates}}}
func.func @main(%a: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}, {{}}]>}}) -> tensor<60x64xf32> {{
  %0 = stablehlo.slice %a [0:60, 0:64] : (tensor<64x64xf32>) -> tensor<60x64xf32>
  %1 = stablehlo.slice %a [2:62, 0:64] : (tensor<64x64xf32>) -> tensor<60x64xf32>
  %2 = stablehlo.slice %a [4:64, 0:64] : (tensor<64x64xf32>) -> tensor<60x64xf32>
  %3 = stablehlo.add %0, %1 : tensor<60x64xf32>
  %4 = stablehlo.add %3, %2 : tensor<60x64xf32>
  return %4 : tensor<60x64xf32>
}}"
        );
        let module = parse("test.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}"));
        let table = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}")).communication;
        (table.rows.len(), table.rows.iter().map(|row| row.bytes_received).sum::<u64>())
    };
    let [fast, slow] = [1, 1 << 20].map(collectives);
    assert!(slow.0 < fast.0 && slow.1 > fast.1, "{fast:?} {slow:?}");
}

#[test]
fn of_partial_sums() {
    for (to, received) in [("[{}, {}]", 2 * (2048 - 512)), ("[{\"y\"}, {}]", 2048 - 512)] {
        let text = format!(
            "sdy.mesh @mesh = <[\"y\"=4]>
func.func @main(%a: tensor<16x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{\"y\"}}]>}},
    %b: tensor<64x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"y\"}}, {{}}]>}})
    -> (tensor<16x32xf32> {{sdy.sharding = #sdy.sharding<@mesh, {to}>}}) {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  return %0 : tensor<16x32xf32>
}}"
        );
        let module = parse("test.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}"));
        let table = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}")).communication;
        assert_eq!(table.rows.iter().map(|row| row.bytes_received).sum::<u64>(), received, "{to}\n{table}");
    }
}

/// Tests that the layouts of a loop on a split batch are not changed for less elementwise work if more bytes would be
/// moved. Gradients of 4 KiB are summed over 8 devices in each of 4 steps.
#[test]
fn layouts_cost_no_bytes_for_less_work() {
    let module =
        parse("momentum_steps.mlir", include_str!("momentum_steps.mlir"), &OPS).unwrap_or_else(|e| panic!("{e}"));
    let table = partition(&module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}")).communication;
    assert!(table.bytes_received() <= 4 * 2 * (4096 - 512), "{table}");
}

/// Tests programs on the largest arrays that there are: sums of their bytes, and their padded sizes, exceed 64 bits.
#[test]
fn prices_of_the_largest_arrays_do_not_overflow() {
    let program = |shape: &str, op: &str| {
        format!(
            r#"sdy.mesh @mesh = <["x"=16, "y"=16, "z"=16]>
func.func @main(%a: T {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{"y"}}, {{"z"}}, {{}}]>}}, %b: T {{sdy.sharding = #sdy.sharding<@mesh, [{{"y"}}, {{}}, {{}}, {{"x"}}]>}}, %p: tensor<{shape}xi1>) -> (T {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"z"}}, {{"x"}}, {{"y"}}]>}}) {{
  %0 = {op}
  return %0 : T
}}"#
        )
        .replace('T', &format!("tensor<{shape}xcomplex<f64>>"))
    };
    // Each shape has almost 2^59 elements of 16 bytes.
    for shape in
        ["17x17x17x117333757847226", "1x1x1x576460752303423487", "16x16x16x140737488355327", "16x16x16x140737488355312"]
    {
        let ops = [
            "stablehlo.select %p, %a, %b : tensor<Nxi1>, T",
            "stablehlo.select %p, %b, %b : tensor<Nxi1>, T",
            "stablehlo.add %a, %b : T",
        ];
        for op in ops {
            let op = op.replace('N', shape).replace('T', &format!("tensor<{shape}xcomplex<f64>>"));
            let text = program(shape, &op);
            let module = parse("test.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}\n{text}"));
            // The layouts are priced first. What is too large with its padding is refused afterwards.
            if let Err(found) = partition(&module, &mut Options::default()) {
                assert!(found.iter().all(|d| d.code == "padding-size"), "{found}\n{text}");
            }
        }
    }
}
