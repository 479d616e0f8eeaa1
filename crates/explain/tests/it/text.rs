//! The texts of explanations and comparisons.

use crate::parsed;
use expect_test::expect;
use shardwise_explain::{Comparison, Notation, Options, compare, explain, rust_spec};
use shardwise_sim::{Overlap, Topology};

const PRODUCT: &str = r#"sdy.mesh @mesh = <["X"=4, "Y"=2]>
func.func @main(
    %x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>} loc("In"),
    %w: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>} loc("W"))
    -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}"#;

/// Returns [`PRODUCT`] after a comment, and with a result that is not split over "Y".
fn whole_rows() -> String {
    format!("// Another version.\n{}", PRODUCT.replace("[{\"X\"}, {\"Y\"}]>}) {", "[{\"X\"}, {}]>}) {"))
}

fn compared(first: &str, second: &str) -> Comparison {
    compare(&parsed("a.mlir", first), &parsed("b.mlir", second), &Options::default()).unwrap()
}

#[test]
fn an_explanation() {
    let e = explain(&parsed("a.mlir", PRODUCT), &Options::default()).unwrap();
    expect![[r#"
        1 collective: 256 B received by the device that receives most
            least     256 B for these moves
            memory    about 4.9 KiB on a device
            compute   4.1 kflop on a device

        1.  all-gather over Y, f32[2,32] -> f32[2,64], 256 B
            for       dot_general at a.mlir:6:3
            because   `dot_general` runs with factor k whole, as operand 1 [{}, {"Y"}] has it, and operand 0
                      is [{"X"}, {"Y"}]; operand 0 is argument 0 of the function
            rejected  i whole, j over {"Y"}, k over {"X"}, 896 B
            least     no way to move or combine these values receives less
            remedy    change 1 below

        change 1, the best for the whole program
            where     argument 0 (%arg0) "In", f32[8,64]
            now       #sdy.sharding<@mesh, [{"X"}, {"Y"}]>
            change to #sdy.sharding<@mesh, [{"X"}, {}]>
            saves     256 B: 0 B received in place of 256 B
            memory    4.9 KiB -> 4.6 KiB, 256 B less
            compute   4.1 kflop, unchanged
            vanishes  all-gather for dot_general at a.mlir:6:3, 256 B

        tried 44 changes of 3 specs and new constraints (all layouts over whole axes)
    "#]]
    .assert_eq(&e.to_string());
}

/// The reshard is an exchange of two permutes, and a gather after it.
#[test]
fn all_collectives_of_a_reshard_are_one_group() {
    let text = r#"sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @main(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y", "z"}, {}]>})
    -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x"}]>}) {
  return %x : tensor<16x16xf32>
}"#;
    let e = explain(&parsed("a.mlir", text), &Options::default()).unwrap();
    let kinds: Vec<Vec<&str>> =
        e.groups.iter().map(|group| group.rows.iter().map(|row| row.kind.name()).collect()).collect();
    assert_eq!(kinds, [["collective-permute", "collective-permute", "all-gather"]]);
    assert_eq!((e.groups[0].bytes_received(), e.groups[0].bytes_least()), (256, Some(256)));
}

#[test]
fn an_explanation_with_times_for_rust() {
    let topology = Some(Topology::parse("v5e:2x4").unwrap());
    let options = Options { topology, overlap: Overlap::Auto, notation: Notation::Rust, ..Options::default() };
    let text = explain(&parsed("a.mlir", PRODUCT), &options).unwrap().to_string();
    // The times are the simulator's.
    for part in ["    step      ", "argument `In`", "change to P!(\"X\", None)", "hidden behind compute"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn equal_programs_do_not_differ() {
    let same = compared(PRODUCT, &format!("// Shifted lines.\n\n{PRODUCT}"));
    assert!(same.to_string().ends_with("the collectives are the same\n"), "{same}");
    assert_eq!(same.before, same.after);
}

#[test]
fn a_comparison() {
    let c = compared(PRODUCT, &whole_rows());
    let lines: Vec<String> = c.to_string().lines().map(|line| line.trim_start().to_string()).collect();
    let expected = [
        "received  256 B -> 384 B",
        "count     1 -> 2",
        "memory    4.9 KiB, unchanged",
        "compute   4.1 kflop, unchanged",
        "appears   all-gather for return at b.mlir:9:3, 128 B",
    ];
    assert_eq!(lines, expected);
    let back = compared(&whole_rows(), PRODUCT);
    assert_eq!((c.before, c.after), (back.after, back.before));
}

#[test]
fn colours_change_no_text() {
    let e = explain(&parsed("a.mlir", PRODUCT), &Options::default()).unwrap();
    let c = compared(PRODUCT, &whole_rows());
    for (plain, coloured) in [(e.to_string(), format!("{e:#}")), (c.to_string(), format!("{c:#}"))] {
        let mut pieces = coloured.split("\x1b[");
        let first = pieces.next().unwrap_or_default().to_string();
        let rest: Vec<(&str, &str)> = pieces.map(|piece| piece.split_once('m').unwrap()).collect();
        assert_eq!(first + &rest.iter().map(|(_, text)| *text).collect::<String>(), plain);
        let is_closed = |pair: &[(&str, &str)]| pair[0].0 != "0" && pair[1].0 == "0" && !pair[0].1.contains('\n');
        assert!(!rest.is_empty() && rest.chunks(2).all(is_closed), "{coloured:?}");
    }
}

/// Names of files, arguments and axes are shown without control characters, which a terminal would obey.
#[test]
fn terminals_obey_no_name() {
    let text = PRODUCT.replace("\"Y\"", r#""Y\1B[31m\0A""#).replace("loc(\"In\")", r#"loc("In\1B[31m")"#);
    let module = parsed("a\x1b[31m.mlir", &text);
    let e = explain(&module, &Options::default()).unwrap();
    let table = shardwise_spmd::partition(&module, &mut Default::default()).unwrap().communication;
    for shown in [e.to_string(), table.to_string()] {
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown}");
        assert!(shown.contains(r"Y\u{1b}[31m\n") && shown.contains(r"a\u{1b}[31m.mlir:6:3"), "{shown}");
    }
    assert!(e.to_string().contains(r"In\u{1b}[31m"), "{e}");
}

/// The times are those that a simulation of the partitioned and scheduled program shows, also with a remedy.
#[test]
fn times_are_those_of_the_scheduled_program() {
    let text = r#"sdy.mesh @mesh = <["X"=2, "Y"=4]>
func.func @main(
    %x: tensor<1024x2048xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>},
    %w: tensor<2048x8192xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>})
    -> (tensor<1024x8192xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<1024x2048xi32>, tensor<2048x8192xi32>) -> tensor<1024x8192xi32>
  return %0 : tensor<1024x8192xi32>
}"#;
    let (module, topology) = (parsed("a.mlir", text), Topology::parse("v5e:2x4").unwrap());
    let mut times = vec![];
    for overlap in [Overlap::Off, Overlap::Auto, Overlap::Force] {
        let simulated = |module: &shardwise_ir::Module| {
            let local = shardwise_spmd::partition(module, &mut Default::default()).unwrap().module;
            let scheduled = shardwise_schedule::schedule(&local, &topology, overlap, &Default::default()).unwrap();
            Some(scheduled.timeline(&topology).unwrap().end())
        };
        let options = Options { topology: Some(topology.clone()), overlap, trials: Some(24), ..Options::default() };
        let e = explain(&module, &options).unwrap();
        assert_eq!(e.figures.step_time, simulated(&e.program), "{overlap:?}");
        for remedy in &e.remedies {
            assert_eq!(remedy.after.step_time, simulated(&remedy.change.apply(&e.program)), "{overlap:?}");
        }
        assert!(overlap != Overlap::Off || !e.remedies.is_empty());
        times.push(e.groups[0].time().unwrap());
    }
    // The gather becomes permutes that are hidden behind the products of a collective matmul.
    assert!(times[0].exposed == times[0].duration && times[1].exposed < times[0].exposed / 2, "{times:?}");
}

/// Rust accepts tuples of two or three names, and slices of more.
#[test]
fn layouts_of_many_axes_are_written_as_rust_accepts_them() {
    let module = parsed(
        "a.mlir",
        r#"sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2, "d"=2, "e"=2, "f"=2]>
func.func @main(%x: tensor<16x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b", "c", "d"}, {"e", "f"}, {}]>})
    -> tensor<16x4x2xf32> {
  return %x : tensor<16x4x2xf32>
}"#,
    );
    let body = &module.main().expect("a main function").body;
    let layout = body.value(body.args()[0]).sharding.as_ref().expect("a layout");
    assert_eq!(rust_spec(layout), r#"P!(&["a", "b", "c", "d"][..], ("e", "f"), None)"#);
}
