//! Tests that both engines respect the budget under which they are called, and report where they stopped.

use shardwise_base::{Account, Budget, CancelToken, Diagnostics, Literal, Stop};
use shardwise_check::run::{on, partitioned, whole};
use shardwise_engine::Engine;
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Module, text};
use shardwise_ops::OPS;

const ENDLESS: &str = "func.func @main() -> tensor<i32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%i = %c) : tensor<i32>
    cond {
      %t = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %1 = stablehlo.add %i, %i : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }
  return %0 : tensor<i32>
}";

const LARGE: &str = "func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<1000x1000xf32>
  %1 = stablehlo.iota dim = 0 : tensor<1000x1000xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %3 = stablehlo.slice %2 [0:1, 0:1] : (tensor<1000x1000xf32>) -> tensor<1x1xf32>
  %4 = stablehlo.reshape %3 : (tensor<1x1xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}";

fn module(source: &str) -> Module {
    text::parse("limits.mlir", source, &OPS).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the errors of running a program whole in the interpreter, and partitioned on each engine, each under its own
/// budget. Panics if a run succeeds, or if memory stays reserved after it.
fn errors(source: &str, inputs: &[Literal], max_bytes: usize, max_steps: u64) -> Vec<Diagnostics> {
    let source = module(source);
    let local = partitioned(&source).unwrap_or_else(|e| panic!("{e}")).module;
    let (interp, host): (&dyn Engine, &dyn Engine) = (&InterpEngine, &HostEngine::default());
    let runs: [&dyn Fn() -> Result<Vec<Literal>, Diagnostics>; 3] =
        [&|| whole(&source, inputs), &|| on(interp, &local, inputs), &|| on(host, &local, inputs)];
    let under = |run: &dyn Fn() -> Result<Vec<Literal>, Diagnostics>| {
        let budget = Budget::new(Account::with_limit(max_bytes), Some(max_steps), CancelToken::default());
        let stopped = budget.run(run).expect("engines return what stops them").unwrap_err();
        assert_eq!(budget.account().in_use(), 0, "nothing of the run is left");
        stopped
    };
    runs.into_iter().map(under).collect()
}

#[test]
fn endless_loops_stop_at_their_line() {
    for found in errors(ENDLESS, &[], 1 << 20, 10_000) {
        let text = found.to_string();
        assert!(text.contains("error[run-steps]: the program takes more than 10000 steps"), "{text}");
        assert!(text.contains("limits.mlir:") && text.contains("stopped at `"), "{text}");
    }
}

#[test]
fn arrays_beyond_the_memory_limit_are_refused_at_their_line() {
    for found in errors(LARGE, &[Literal::scalar(1f32)], 5 << 20, 1_000_000) {
        let text = found.to_string();
        assert!(text.contains("error[run-memory]: out of memory: "), "{text}");
        assert!(text.contains("limits.mlir:"), "{text}");
    }
}

#[test]
fn large_products_take_the_steps_of_their_operations() {
    for found in errors(LARGE, &[Literal::scalar(1f32)], 1 << 30, 1_000) {
        let text = found.to_string();
        assert!(text.contains("error[run-steps]") && text.contains("stopped at `stablehlo.dot_general`"), "{text}");
    }
}

fn constant(elements: &str, ty: &str) -> String {
    format!("func.func @main() -> {ty} {{\n  %0 = stablehlo.constant dense<{elements}> : {ty}\n  return %0 : {ty}\n}}")
}

/// Returns programs with a constant of 2^20 elements: in decimal, in hexadecimal, and as bits.
fn large_constants() -> [String; 3] {
    let list = format!("[{}]", vec!["7"; 1 << 20].join(", "));
    let hex = |bytes: usize| format!("\"0x{}\"", "a5".repeat(bytes));
    [
        constant(&list, "tensor<1048576xi32>"),
        constant(&hex(4 << 20), "tensor<1048576xi32>"),
        constant(&hex(1 << 17), "tensor<1048576xi1>"),
    ]
}

#[test]
fn elements_of_a_text_are_charged_while_they_are_read() {
    for (text, bytes) in large_constants().iter().zip([4 << 20, 4 << 20, 1 << 20]) {
        let account = Account::with_limit(64 << 20);
        let budget = Budget::new(account.clone(), None, CancelToken::default());
        let _module = budget.run(|| module(text)).unwrap();
        assert!(account.in_use() >= bytes && account.peak() >= 2 * bytes, "{account:?}, {} at most", account.peak());
        let small = Budget::new(Account::with_limit(3 << 18), None, CancelToken::default());
        assert!(matches!(small.run(|| text::parse("limits.mlir", text, &OPS)), Err(Stop::Memory(_))));
    }
}

/// Tests that reading polls at least once for each mebibyte of text, which takes a few milliseconds.
#[test]
fn reading_a_large_text_polls() {
    let ops = (0..20_000).map(|i| format!("  %{} = stablehlo.tanh %{i} : tensor<4xf32>\n", i + 1)).collect::<String>();
    let ops =
        format!("func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {{\n{ops}  return %20000 : tensor<4xf32>\n}}");
    for text in large_constants().into_iter().chain([ops, format!("// {}", "-".repeat(8 << 20))]) {
        let token = CancelToken::at_poll(u64::MAX);
        let budget = Budget::new(Account::with_limit(usize::MAX / 2), None, token.clone());
        let _module = budget.run(|| text::parse("limits.mlir", &text, &OPS)).unwrap();
        let (polls, mebibytes) = (u64::MAX - token.polls_left(), text.len() as u64 >> 20);
        assert!(polls >= mebibytes.max(1), "{polls} polls in {mebibytes} MiB of {}", &text[..80]);
    }
}
