//! Loops, branches, asynchronous ops, calls of unknown cost, and memory.

use crate::programs::{durations, listing, localized, predict, total};
use shardwise_sim::{LOOK_AHEAD, Machine, Options, Overlap, Summary, Takes, Topology, issue, points, simulate};
use shardwise_view::{LaneKind, SpanKind, Timeline};
use std::sync::Arc;

fn turns(limit: Option<u64>) -> String {
    let (argument, limit) = match limit {
        Some(n) => (String::new(), format!("%limit = stablehlo.constant dense<{n}> : tensor<i32>")),
        None => (", %limit: tensor<i32>".into(), String::new()),
    };
    format!(
        r#"func.func @main(%x: tensor<1024x1024xbf16>{argument}) -> tensor<1024x1024xbf16> {{
  {limit}
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<1024x1024xbf16>
  cond {{
    %1 = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %2 = stablehlo.dot_general %y, %x, contracting_dims = [1] x [0]
        : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %3 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %3, %2 : tensor<i32>, tensor<1024x1024xbf16>
  }}
  return %0#1 : tensor<1024x1024xbf16>
}}"#
    )
}

fn flops(timeline: &Timeline) -> u64 {
    Summary::of(timeline, &Topology::parse("v5e:1x1").unwrap()).flops
}

#[test]
fn a_loop_takes_as_long_as_its_turns() {
    let at = |n: u64| predict(&turns(Some(n)), "v5e:1x1", Overlap::Off);
    let (two, three, hundred) = (at(2), at(3), at(100));
    let turn = total(&three) - total(&two);
    assert!((total(&hundred) - total(&two) - 98.0 * turn).abs() < 1e-3, "{}", listing(&hundred));
    assert_eq!(flops(&hundred), 100 * 2 * 1024 * 1024 * 1024);
    // Two turns are listed, the last of which stands for the others, too.
    let runs: Vec<u64> = hundred.spans.iter().map(|s| s.runs).collect();
    assert_eq!(runs, [1, 1, 99], "{}", listing(&hundred));
    // All turns count where time is divided among kinds.
    let busy = |timeline: &Timeline| timeline.compute_utilization().unwrap();
    assert!((busy(&hundred) - busy(&two)).abs() < 1e-9, "{} {}", busy(&hundred), busy(&two));
    let instructions = hundred.instructions();
    let product = instructions.iter().find(|i| i.kind == SpanKind::Compute).unwrap();
    assert_eq!((instructions.len(), product.runs), (2, 100));
    assert_eq!(total(&at(0)), 0.0);
    assert!(at(0).notes[0].contains("64 elements are free") && two.notes.is_empty());
    // A time that cannot be represented is the largest one.
    let long = turns(Some(1 << 62)).replace("tensor<i32>", "tensor<i64>");
    assert_eq!(predict(&long, "v5e:1x1", Overlap::Off).end(), u64::MAX);
    let of_turns: Vec<Option<u64>> = two.spans.iter().map(|s| s.turn).collect();
    assert_eq!(of_turns, [None, Some(0), Some(1)]);
}

#[test]
fn a_loop_of_unknown_length_says_so() {
    let timeline = predict(&turns(None), "v5e:1x1", Overlap::Off);
    let note = timeline.spans.iter().find_map(|s| s.note.clone()).unwrap();
    assert!(note.contains("one is assumed"), "{note}");
    assert_eq!(flops(&timeline), 2 * 1024 * 1024 * 1024);
}

#[test]
fn the_condition_of_a_loop_runs_once_more_than_its_body() {
    let product = "%p = stablehlo.dot_general %y, %x, contracting_dims = [1] x [0]
        : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %1 = stablehlo.compare";
    let topology = Topology::parse("v5e:1x1").unwrap();
    let products = |limit: Option<u64>| {
        let source = turns(limit).replace("%1 = stablehlo.compare", product);
        let module = shardwise_ir::text::parse("program.mlir", &source, &shardwise_ops::OPS).unwrap();
        let issued = issue(&module, &topology, Overlap::Off, LOOK_AHEAD).unwrap();
        (flops(&issued.timeline) / (2 * 1024 * 1024 * 1024), issued.blocks.len())
    };
    assert_eq!(products(Some(0)), (1, 2));
    assert_eq!(products(Some(1)), (3, 3));
    assert_eq!(products(Some(100)), (201, 3));
    assert_eq!(products(None), (3, 3));
}

#[test]
fn the_time_does_not_double_with_each_loop_in_a_condition() {
    let nested = (0..60).fold("stablehlo.constant dense<false> : tensor<i1>".to_string(), |inner, i| {
        format!(
            "stablehlo.while(%a{i} = %p) : tensor<i1>
  cond {{
    %c{i} = {inner}
    stablehlo.return %c{i} : tensor<i1>
  }} do {{
    stablehlo.return %a{i} : tensor<i1>
  }}"
        )
    });
    let source =
        format!("func.func @main(%p: tensor<i1>) -> tensor<i1> {{\n  %0 = {nested}\n  return %0 : tensor<i1>\n}}");
    let module = shardwise_ir::text::parse("program.mlir", &source, &shardwise_ops::OPS).unwrap();
    let timeline = simulate(&module, &Topology::parse("v5e:1x1").unwrap(), &Options::default()).unwrap();
    assert!((60..10_000).contains(&timeline.spans.len()), "{}", timeline.spans.len());
}

#[test]
fn of_two_branches_the_dearer_one_is_taken() {
    let source = r#"func.func @main(%p: tensor<i1>, %x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.negate %x : tensor<1024x1024xf32>
    stablehlo.return %1 : tensor<1024x1024xf32>
  }, {
    %1 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
        : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    stablehlo.return %1 : tensor<1024x1024xf32>
  }) : (tensor<i1>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}"#;
    let timeline = predict(source, "v5e:1x1", Overlap::Off);
    let names: Vec<&str> = timeline.spans.iter().map(|s| &*s.name).collect();
    assert_eq!(names, ["if", "dot_general"]);
    assert!(timeline.spans.iter().next().unwrap().note.as_ref().unwrap().contains("longest"));
}

#[test]
fn a_call_of_unknown_cost_has_a_time_and_a_note() {
    let source = r#"func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = stablehlo.custom_call @mystery(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}"#;
    let timeline = predict(source, "v5e:1x1", Overlap::Off);
    let span = timeline.spans.iter().next().unwrap();
    assert!(span.note.as_ref().unwrap().contains("`mystery` is not known"));
    // The argument is in VMEM when the program starts. To write 4 MiB at 737 GB/s takes 5.7 us.
    assert!((5.7..8.0).contains(&total(&timeline)), "{}", listing(&timeline));
    assert_eq!(span.work.flops, None);
}

/// A gather that nothing needs until the product beside it is done.
const ASYNCHRONOUS: &str = r#"sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<4096x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<4096x4096xbf16> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>]
      out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"}
      (%s: tensor<1024x1024xbf16>, %w: tensor<4096x4096xbf16>) {
    %f = "stablehlo.async_start"(%s) ({
    ^bb0(%t: tensor<1024x1024xbf16>):
      %g = "stablehlo.all_gather"(%t) <{all_gather_dim = 0 : i64,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
          replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}>
          : (tensor<1024x1024xbf16>) -> tensor<4096x1024xbf16>
      stablehlo.return %g : tensor<4096x1024xbf16>
    }) : (tensor<1024x1024xbf16>) -> !stablehlo.future<tensor<4096x1024xbf16>>
    %1 = stablehlo.dot_general %w, %w, contracting_dims = [1] x [0]
        : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    %2 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4096x1024xbf16>>) -> tensor<4096x1024xbf16>
    %3 = stablehlo.dot_general %2, %2, contracting_dims = [1] x [1]
        : (tensor<4096x1024xbf16>, tensor<4096x1024xbf16>) -> tensor<4096x4096xbf16>
    %4 = stablehlo.add %1, %3 : tensor<4096x4096xbf16>
    sdy.return %4 : tensor<4096x4096xbf16>
  } : (tensor<4096x1024xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}"#;

#[test]
fn what_the_program_starts_runs_beside_the_core() {
    let timeline = predict(ASYNCHRONOUS, "v5e:4x1", Overlap::Off);
    let gathers = durations(&timeline, LaneKind::Link, SpanKind::Collective);
    let waits: f64 = durations(&timeline, LaneKind::Core, SpanKind::Wait).iter().sum();
    // The product takes 2 * 4096^3 / 197e12 = 700 us, and the gather 3 * (1.8 + 2 MiB / 37.3 GB/s) = 174 us.
    assert!((gathers[0] - 174.0).abs() < 1.0 && (waits - 3.9).abs() < 0.1, "{}", listing(&timeline));
    let work: f64 = durations(&timeline, LaneKind::Core, SpanKind::Compute).iter().sum();
    assert!((total(&timeline) - work - waits).abs() < 1e-3);
}

#[test]
fn a_slice_that_the_program_starts_takes_the_core() {
    let slice = "%s = stablehlo.slice %t [0:512, 0:1024] : (tensor<1024x1024xf32>) -> tensor<512x1024xf32>";
    let permute = r#"%s = "stablehlo.collective_permute"(%t) <{
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}>
        : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>"#;
    let takes = |op: &str, to: &str, overlap: Overlap| {
        let source = format!(
            r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<1024x1024xf32>) -> {to} {{
  %f = "stablehlo.async_start"(%x) ({{
  ^bb0(%t: tensor<1024x1024xf32>):
    {op}
    stablehlo.return %s : {to}
  }}) : (tensor<1024x1024xf32>) -> !stablehlo.future<{to}>
  %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<{to}>) -> {to}
  return %0 : {to}
}}"#
        );
        let module = shardwise_ir::text::parse("program.mlir", &source, &shardwise_ops::OPS).unwrap();
        let issued = issue(&module, &Topology::parse("v5e:2x1").unwrap(), overlap, LOOK_AHEAD).unwrap();
        issued.blocks.into_values().flatten().map(|item| item.takes).collect::<Vec<Takes>>()
    };
    for overlap in OVERLAPS {
        let (slice, permute) =
            (takes(slice, "tensor<512x1024xf32>", overlap), takes(permute, "tensor<1024x1024xf32>", overlap));
        assert_eq!((slice, permute), (vec![Takes::Core, Takes::Nothing], vec![Takes::Links, Takes::Nothing]));
    }
}

#[test]
fn a_call_takes_as_long_as_its_function() {
    let product = "stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
      : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}";
    let head = "(%x: tensor<512x512xf32>) -> tensor<512x512xf32>";
    let plain = format!("func.func @main{head} {{\n  %0 = {product}");
    let called = format!(
        "func.func @main{head} {{
  %0 = func.call @f(%x) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}}
func.func private @f{head} {{\n  %0 = {product}"
    );
    let time = |source: &str| {
        let module = shardwise_ir::text::parse("program.mlir", source, &shardwise_ops::OPS).unwrap();
        simulate(&module, &Topology::parse("v4:1x1x1").unwrap(), &Options::default()).unwrap()
    };
    let (plain, called) = (time(&plain), time(&called));
    assert_eq!(called.spans.len(), 2, "{}", listing(&called));
    // The function's result does not know that it is one of the program: it may stay in VMEM.
    assert!(total(&called) > 0.0 && total(&called) <= total(&plain), "{}", listing(&called));
    assert_eq!(flops(&called), flops(&plain));
}

/// Tests that on v5e a product of int8 takes about half the time of one of bf16, and one of int32 about ten times as
/// long.
#[test]
fn passes_depend_on_the_element_type() {
    let time = |from: &str, to: &str| {
        let (x, y) = (format!("tensor<2048x2048x{from}>"), format!("tensor<2048x2048x{to}>"));
        let source = format!(
            "func.func @main(%x: {x}, %y: {x}) -> {y} {{
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({x}, {x}) -> {y}
  return %0 : {y}
}}"
        );
        total(&predict(&source, "v5e:1x1", Overlap::Off))
    };
    // 2 * 2048^3 / 197e12 is 87 us.
    let bf16 = time("bf16", "bf16");
    assert!((87.0..100.0).contains(&bf16), "{bf16}");
    assert!((0.45..0.65).contains(&(time("i8", "i32") / bf16)), "{}", time("i8", "i32"));
    assert!((9.0..10.5).contains(&(time("i32", "i32") / bf16)), "{}", time("i32", "i32"));
    assert!((0.95..1.1).contains(&(time("bf16", "f32") / bf16)), "{}", time("bf16", "f32"));
}

#[test]
fn a_program_on_global_values_is_refused() {
    let module = shardwise_ir::text::parse("program.mlir", ASYNCHRONOUS, &shardwise_ops::OPS).unwrap();
    let topology = Topology::parse("v5e:4x1").unwrap();
    let error = simulate(&module, &topology, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("simulate-global") && error.contains("sdy.manual_computation"), "{error}");
}

#[test]
fn a_program_with_split_arguments_or_constraints_in_calls_is_refused() {
    let split = r#"{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}"#;
    let program = |argument: &str, result: &str| {
        format!(
            r#"sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<1024x1024xf32> {argument}) -> (tensor<1024x1024xf32> {result}) {{
  %0 = call @f(%a) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}}
func.func private @f(%a: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {{
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}}"#
        )
    };
    let topology = Topology::parse("v5e:2x4").unwrap();
    let refused = |source: &str| {
        let module = shardwise_ir::text::parse("program.mlir", source, &shardwise_ops::OPS).unwrap();
        let found = simulate(&module, &topology, &Options::default());
        found.err().map(|e| e.to_string())
    };
    let contains = |error: Option<String>, part: &str| {
        let error = error.expect("it is refused");
        assert!(error.contains("simulate-global") && error.contains(part), "{error}");
    };
    contains(refused(&program(split, "")), "argument 0 of `@main`");
    contains(refused(&program("", split)), "result 0 of `@main`");
    let constraint = r#"%b = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<1024x1024xf32>
  %0 = stablehlo.dot_general %a, %b"#;
    let inside = program("", "").replace("%0 = stablehlo.dot_general %a, %a", constraint);
    contains(refused(&inside), "`sdy.sharding_constraint`");
    assert_eq!(refused(&program("", "")), None);
    let local = localized(&program(split, split));
    assert!(simulate(&local, &topology, &Options::default()).is_ok());
}

#[test]
fn any_look_ahead_is_possible() {
    let topology = Topology::parse("v5e:4x1").unwrap();
    let module = localized(ASYNCHRONOUS);
    let far = |look_ahead: usize| issue(&module, &topology, Overlap::Auto, look_ahead).unwrap().blocks;
    assert_eq!(far(usize::MAX), far(1 << 20));
}

#[test]
fn memory_follows_the_lives_of_values() {
    // Each array has 4 MiB. No product takes over the memory of an operand, which it reads while it writes.
    let source = r#"func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0]
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0]
      : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %2 : tensor<1024x1024xf32>
}"#;
    let timeline = predict(source, "v5e:1x1", Overlap::Off);
    let mib: Vec<u64> = timeline.memory.iter().map(|memory| memory.bytes >> 20).collect();
    assert_eq!(mib, [8, 12, 16, 8]);
    let summary = Summary::of(&timeline, &Topology::parse("v5e:1x1").unwrap());
    assert!(summary.fits() && summary.peak_bytes == 16 << 20);
    let parts: Vec<(&str, u64)> = timeline.at_peak.iter().map(|part| (part.name.as_str(), part.bytes >> 20)).collect();
    assert_eq!(parts, [("argument 0", 4), ("dot_general", 4), ("dot_general", 4), ("dot_general", 4)]);
    assert_eq!(timeline.at_peak.iter().map(|part| part.bytes).sum::<u64>(), summary.peak_bytes);
}

fn host() -> Topology {
    host_with("")
}

fn host_with(more: &str) -> Topology {
    let text = "host mine \"My machine\"\nworkers 2 | by hand\nmemory_bytes 1e9 | by hand\n\
                instruction_s 1e-6 | by hand\nspeedup 1.9 | by hand\nstream.4096 1e10 | by hand\n";
    let machine = Machine::parse(&format!("{text}{more}"), "own.txt").unwrap().remove(0);
    Topology::new(Arc::new(machine), &[1], 1).unwrap()
}

/// Tests that a value stays in memory that a loop uses in each turn, and that an op after the loop reads in another
/// shape. It and the argument have 4 MiB each.
#[test]
fn values_on_a_host_stay_until_their_last_use() {
    let source = r#"func.func @main(%a: tensor<1024x1024xf32>, %x: tensor<1x1024xf32>)
    -> (tensor<1x1024xf32>, tensor<1048576xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %w = stablehlo.negate %a : tensor<1024x1024xf32>
  %r = stablehlo.reshape %w : (tensor<1024x1024xf32>) -> tensor<1048576xf32>
  %l:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<1x1024xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %d = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0]
        : (tensor<1x1024xf32>, tensor<1024x1024xf32>) -> tensor<1x1024xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %d : tensor<i32>, tensor<1x1024xf32>
  }
  %s = stablehlo.negate %l#1 : tensor<1x1024xf32>
  %z = stablehlo.negate %r : tensor<1048576xf32>
  return %s, %z : tensor<1x1024xf32>, tensor<1048576xf32>
}"#;
    let timeline = simulate(&localized(source), &host(), &Options::default()).unwrap();
    assert_eq!(timeline.check(), Ok(()));
    assert!(timeline.memory.iter().all(|memory| memory.bytes >= 8 << 20), "{:?}", timeline.memory);
}

/// Tests that a transpose takes no memory if the op after it reads its operand instead. The argument and the result
/// have 4 MiB each.
#[test]
fn a_view_that_is_read_in_its_place_takes_no_memory_of_a_host() {
    let source = r#"func.func @main(%a: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %r = stablehlo.negate %t : tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}"#;
    for host in [host(), host_with("small_op_s 1e-8 | by hand\n")] {
        let timeline = simulate(&localized(source), &host, &Options::default()).unwrap();
        let most = timeline.memory.iter().map(|memory| memory.bytes).max();
        assert_eq!(most, Some(8 << 20), "{:?}", timeline.memory);
    }
}

#[test]
fn loops_on_few_elements_are_one_instruction_of_a_host() {
    let source = |count: u64| {
        format!(
            r#"func.func @main(%x: tensor<4xf32>, %y: tensor<2048xf32>) -> (tensor<4xf32>, tensor<2048xf32>) {{
  %limit = stablehlo.constant dense<{count}> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xf32>
  cond {{
    %1 = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %2 = stablehlo.add %a, %x : tensor<4xf32>
    %3 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %3, %2 : tensor<i32>, tensor<4xf32>
  }}
  %4 = stablehlo.negate %0#1 : tensor<4xf32>
  %5 = stablehlo.negate %y : tensor<2048xf32>
  return %4, %5 : tensor<4xf32>, tensor<2048xf32>
}}"#
        )
    };
    let small = host_with("small_op_s 1e-8 | by hand\nsmall_element_s 1e-9 | by hand\n");
    let predicted = |count: u64| simulate(&localized(&source(count)), &small, &Options::default()).unwrap();
    let (one, thousand) = (predicted(1), predicted(1001));
    let names: Vec<&str> = thousand.spans.iter().map(|span| &*span.name).collect();
    assert_eq!(names, ["small(while, negate)", "negate"], "{}", listing(&thousand));
    // A turn has three ops on one, one and four elements, and the jump.
    let turn = (thousand.end() - one.end()) as f64 / 1000.0;
    assert!((turn - 46_000.0).abs() < 1.0, "{turn}");
    assert_eq!(Summary::of(&thousand, &small).flops - Summary::of(&one, &small).flops, 1000 * 6);
    let without = simulate(&localized(&source(3)), &host(), &Options::default()).unwrap();
    assert!(without.spans.len() > 10, "{}", listing(&without));
}

/// Returns the predicted time of a program of one op, in microseconds.
fn host_us(host: &Topology, arguments: &str, op: &str, result: &str) -> f64 {
    let source = format!("func.func @main({arguments}) -> {result} {{\n  %r = {op}\n  return %r : {result}\n}}");
    simulate(&localized(&source), host, &Options::default()).unwrap().end() as f64 / 1e6
}

/// Tests that the rate of a batch is that of one worker, and that the times of an instruction and its instance are
/// added.
#[test]
fn a_batch_of_products_is_shared_by_the_workers() {
    let host = host_with(
        "launch_s 2e-6 | by hand\ninstance_s 3e-6 | by hand\nproduct.f32.8x8x8 1e12 | by hand\nbatched.f32.8x8x8 1e9 | by hand\n",
    );
    let product = |count: usize| {
        let ty = format!("tensor<{count}x8x8xf32>");
        let dims = "batching_dims = [0] x [0], contracting_dims = [2] x [1]";
        let op = format!("stablehlo.dot_general %x, %y, {dims} : ({ty}, {ty}) -> {ty}");
        host_us(&host, &format!("%x: {ty}, %y: {ty}"), &op, &ty)
    };
    // 1024 flops each, and 6 us beside the work.
    assert!((product(10) - (6.0 + 10.24)).abs() < 0.01, "{}", product(10));
    assert!((product(10_000) - (6.0 + 10_240.0 / 1.9)).abs() < 1.0, "{}", product(10_000));
}

/// Tests that a product without a sum runs with the elementwise ops that use it, as one instruction that takes as long
/// as its data.
#[test]
fn products_without_a_sum_are_multiplications() {
    let ty = "tensor<4096x64xf32>";
    let source = format!(
        "func.func @main(%x: {ty}, %y: tensor<4096xf32>) -> {ty} {{
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [] x [] : ({ty}, tensor<4096xf32>) -> {ty}
  %1 = stablehlo.add %0, %x : {ty}
  return %1 : {ty}
}}"
    );
    let host = host_with(
        "element.stablehlo.add.f32 1e12 | by hand\nelement.stablehlo.multiply.f32 1e12 | by hand\nproduct.f32.8x8x8 1e6 | by hand\n",
    );
    let timeline = simulate(&localized(&source), &host, &Options::default()).unwrap();
    assert_eq!(timeline.spans.len(), 1, "{}", listing(&timeline));
    // The operands and the result are 2,113,536 bytes.
    let us = timeline.end() as f64 / 1e6;
    assert!((us - 212.4).abs() < 0.1, "{us}");
}

/// Tests that windows as large as a dimension are running sums only if each starts at the first element.
#[test]
fn running_sums_have_a_rate_of_their_own() {
    let host = host_with(
        "op.stablehlo.reduce_window.running.kept.f32.8 1e9 | by hand\n\
         op.stablehlo.reduce_window.flops.kept.f32.8 1e6 | by hand\n",
    );
    let window = |size: usize, low: usize, high: usize| {
        let ty = "tensor<9x64xf32>";
        let op = format!(
            r#""stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: {size}, 1>,
    padding = dense<[[{low}, {high}], [0, 0]]> : tensor<2x2xi64>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : ({ty}, tensor<f32>) -> {ty}"#
        );
        host_us(&host, &format!("%x: {ty}, %z: tensor<f32>"), &op, ty)
    };
    // The bytes of the operands and the result, and 1 us.
    let bytes = (2 * 9 * 64 * 4 + 4) as f64;
    assert!((window(9, 8, 0) - (1.0 + bytes / 1e3)).abs() < 0.01, "{}", window(9, 8, 0));
    for (size, low, high) in [(3, 1, 1), (9, 4, 4)] {
        let flops = (9 * 64 * size) as f64;
        assert!((window(size, low, high) - (1.0 + flops)).abs() < 0.01, "{}", window(size, low, high));
    }
}

#[test]
fn all_turns_on_a_host_compute() {
    let [few, many] = [1_000, 100_000].map(|count| {
        let timeline = simulate(&localized(&turns(Some(count))), &host(), &Options::default()).unwrap();
        Summary::of(&timeline, &host()).flops
    });
    assert!(many / few == 99 || many / few == 100, "{many} and {few}");
}

#[test]
fn a_mesh_that_does_not_fit_is_refused() {
    let module = localized(ASYNCHRONOUS);
    let topology = Topology::parse("v5e:2x4").unwrap();
    let error = simulate(&module, &topology, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("the mesh has 4 devices, and the topology `v5e:2x4` has 8"), "{error}");
}

#[test]
fn the_network_between_pods_is_slower_than_links() {
    let sum = r#"sdy.mesh @mesh = <["x"=16]>
func.func @main(%x: tensor<16x4194304xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4194304xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<16x4194304xf32>, tensor<f32>) -> tensor<4194304xf32>
  return %0 : tensor<4194304xf32>
}"#;
    let time = |topology: &str| {
        let timeline = predict(sum, topology, Overlap::Off);
        let times = durations(&timeline, LaneKind::Link, SpanKind::Collective);
        assert_eq!(times.len(), 1, "{}", listing(&timeline));
        times[0]
    };
    // An all-reduce of 16 MiB: 2 * 15/16 of it over links, and 2 * 1/16 of it per chip at 3.125 GB/s between pods.
    let (one, two) = (time("v5e:4x4"), time("v5e:2x4*2"));
    assert!(two > one * 1.5, "{one} {two}");
    let between = 2.0 / 16.0 * 16.777216e6 / 3.125e9 * 1e6;
    assert!(two > between && two < one + between + 20.0, "{one} {two} {between}");
}

#[test]
fn ways_to_overlap_are_read() {
    assert_eq!(["off", "auto", "force"].map(|text| text.parse().ok()), OVERLAPS.map(Some));
    let error = "fource".parse::<Overlap>().unwrap_err().to_string();
    assert!(error.contains("did you mean `force`?"), "{error}");
}

const OVERLAPS: [Overlap; 3] = [Overlap::Off, Overlap::Auto, Overlap::Force];

#[test]
fn constants_can_be_changed() {
    let v5e = Machine::find("v5e").unwrap();
    let slow = v5e.with_constant("link_bytes_per_s", 4.5e9, "a test").unwrap();
    let topology = Topology::parse("v5e:4x1").unwrap();
    let module = localized(ASYNCHRONOUS);
    let time = |topology: &Topology| simulate(&module, topology, &Options::default()).unwrap().end();
    assert!(time(&topology.with_machine(Arc::new(slow))) > time(&topology));
    let wrong = [
        ("links", 1.0),
        ("link_bytes_per_s", 0.0),
        ("hop_latency_s", -1.0),
        ("hop_latency_s", f64::NAN),
        ("torus_dims", 4.0),
    ];
    for (name, value) in wrong {
        assert!(v5e.with_constant(name, value, "a test").is_none(), "{name} {value}");
    }
    assert!(points().unwrap().iter().all(|p| p.predicted_us > 0.0));
}

/// Tests a run that takes longer than times are counted, and one that does not.
#[test]
fn times_that_are_not_counted_are_no_predictions() {
    let has_note = |timeline: &Timeline| timeline.notes.iter().any(|note| note.contains("longer than 213 days"));
    let chip = Topology::parse("v5e:1x1").unwrap();
    let run = |turns: u64| simulate(&localized(&turns_of_64_bits(turns)), &chip, &Options::default()).unwrap();
    let (long, short) = (run(1 << 60), run(1 << 20));
    assert!(has_note(&long) && long.end() == u64::MAX && long.uncertainty.is_none(), "{:?}", long.notes);
    let is_known = |span: &shardwise_view::Span| span.end < u64::MAX || span.uncertainty.is_none();
    assert!(long.spans.iter().all(is_known));
    assert!(!has_note(&short) && short.uncertainty.is_some(), "{:?}", short.notes);
}

fn turns_of_64_bits(count: u64) -> String {
    turns(None).replace(", %limit: tensor<i32>", "").replace("i32", "i64").replacen(
        "\n  \n",
        &format!("\n  %limit = stablehlo.constant dense<{count}> : tensor<i64>\n"),
        1,
    )
}
