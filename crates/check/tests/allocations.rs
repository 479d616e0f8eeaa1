//! Checks that data is only allocated through an account: while programs run on arrays of two mebibytes, or on 256
//! devices, no other allocation has a mebibyte or more.

use shardwise_base::{DType, Literal};
use shardwise_check::run::{on, partitioned, whole};
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Module, text};
use shardwise_ops::OPS;
use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::Mutex;

/// The size, in bytes, from which allocations are considered data.
const LARGE: usize = 1 << 20;

/// The system's allocator, which also records the backtraces of large allocations that no account counts.
struct Watching;

thread_local!(static IS_RECORDING: Cell<bool> = const { Cell::new(false) });
static FOUND: Mutex<Vec<String>> = Mutex::new(vec![]);

fn record(size: usize) {
    if size < LARGE || IS_RECORDING.replace(true) {
        return;
    }
    let trace = Backtrace::force_capture().to_string();
    // Builds without debug information name functions, not files.
    if !trace.contains("shardwise_base::data::") {
        FOUND.lock().expect("no test panics while it records").push(trace);
    }
    IS_RECORDING.set(false);
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        record(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        record(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        record(new_size);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static WATCHING: Watching = Watching;

/// Bodies of programs from `%x` and `%y`, both of type `T`, which is `tensor<1024x512xf32>`, to `%z` of the type in the
/// first entry. Both dimensions of `%x` are sharded, and the first one of `%y`.
const BODIES: &[(&str, &str)] = &[
    ("1024x512xf32", "%a = stablehlo.tanh %x : T\n%z = stablehlo.add %a, %y : T"),
    ("1024x512xi1", "%z = stablehlo.compare LT, %x, %y : (T, T) -> tensor<1024x512xi1>"),
    (
        "1024x512xf32",
        "%p = stablehlo.compare LT, %x, %y : (T, T) -> tensor<1024x512xi1>
         %z = stablehlo.select %p, %x, %y : tensor<1024x512xi1>, T",
    ),
    ("1024x512xbf16", "%z = stablehlo.convert %x : (T) -> tensor<1024x512xbf16>"),
    ("1024x512xi32", "%z = stablehlo.bitcast_convert %x : (T) -> tensor<1024x512xi32>"),
    ("1024x512xf64", "%z = stablehlo.iota dim = 0 : tensor<1024x512xf64>"),
    ("512x1024xf32", "%z = stablehlo.transpose %x, dims = [1, 0] : (T) -> tensor<512x1024xf32>"),
    ("512x1024xf32", "%z = stablehlo.reshape %x : (T) -> tensor<512x1024xf32>"),
    ("1000x512xf32", "%z = stablehlo.slice %x [5:1005, 0:512] : (T) -> tensor<1000x512xf32>"),
    ("2048x512xf32", "%z = stablehlo.concatenate %x, %y, dim = 0 : (T, T) -> tensor<2048x512xf32>"),
    ("1024x512xf32", "%z = stablehlo.reverse %x, dims = [0, 1] : T"),
    (
        "1026x1025xf32",
        "%z = stablehlo.pad %x, %one, low = [1, 1], high = [1, 1], interior = [0, 1] : (T, tensor<f32>) -> tensor<1026x1025xf32>",
    ),
    (
        "1024x512xf32",
        "%z = stablehlo.dynamic_update_slice %x, %y, %i, %i : (T, T, tensor<i32>, tensor<i32>) -> T",
    ),
    (
        "1000x500xf32",
        "%z = stablehlo.dynamic_slice %x, %i, %i, sizes = [1000, 500] : (T, tensor<i32>, tensor<i32>) -> tensor<1000x500xf32>",
    ),
    (
        "1024x1024xf32",
        "%z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (T, T) -> tensor<1024x1024xf32>",
    ),
    ("1024xf32", "%z = stablehlo.reduce(%x init: %one) applies stablehlo.add across dimensions = [1] : (T, tensor<f32>) -> tensor<1024xf32>"),
    (
        "1024x512xf32",
        r#"%z = "stablehlo.reduce_window"(%x, %one) <{window_dimensions = array<i64: 2, 2>, padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.maximum %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (T, tensor<f32>) -> T"#,
    ),
    (
        "1024x512xf32",
        r#"%z = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %s : tensor<i1>
        }) : (T) -> T"#,
    ),
    ("1024x512xf32", "%z, %k = chlo.top_k(%x, k = 512) : T -> (T, tensor<1024x512xi32>)"),
    (
        "1024x512xcomplex<f32>",
        "%c = stablehlo.complex %x, %y : tensor<1024x512xcomplex<f32>>
         %z = stablehlo.fft %c, type = FFT, length = [512] : (tensor<1024x512xcomplex<f32>>) -> tensor<1024x512xcomplex<f32>>",
    ),
    ("1024x1024xf32", "%g = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (T, T) -> tensor<1024x1024xf32>
         %z = stablehlo.cholesky %g, lower = true : tensor<1024x1024xf32>"),
    (
        "1024x512xui32",
        "%u = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
         %n, %z = stablehlo.rng_bit_generator %u, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<1024x512xui32>)",
    ),
    (
        "1024x512xui32",
        "%u = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
         %n, %z = stablehlo.rng_bit_generator %u, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<1024x512xui32>)",
    ),
    (
        "1024x512xf32",
        r#"%r = stablehlo.iota dim = 0 : tensor<1024x1xi32>
         %z = "stablehlo.gather"(%x, %r) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 512>}> : (T, tensor<1024x1xi32>) -> T"#,
    ),
    (
        "1024x512xf32",
        r#"%r = stablehlo.iota dim = 0 : tensor<1024x1xi32>
         %z = "stablehlo.scatter"(%x, %r, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
         ^bb0(%a: tensor<f32>, %b: tensor<f32>):
           %s = stablehlo.add %a, %b : tensor<f32>
           stablehlo.return %s : tensor<f32>
         }) : (T, tensor<1024x1xi32>, T) -> T"#,
    ),
    (
        "1024x512xf32",
        r#"%z, %n = stablehlo.while(%v = %x, %k = %i) : T, tensor<i32>
         cond {
           %three = stablehlo.constant dense<3> : tensor<i32>
           %p = stablehlo.compare LT, %k, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
           stablehlo.return %p : tensor<i1>
         } do {
           %step = stablehlo.constant dense<1> : tensor<i32>
           %k2 = stablehlo.add %k, %step : tensor<i32>
           %v2 = stablehlo.multiply %v, %y : T
           stablehlo.return %v2, %k2 : T, tensor<i32>
         }"#,
    ),
];

fn module(result: &str, body: &str) -> Module {
    let source = format!(
        r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: T {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{"y"}}]>}}, %y: T {{sdy.sharding = #sdy.sharding<@mesh, [{{"y"}}, {{}}]>}}) -> tensor<{result}> {{
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  {body}
  return %z : tensor<{result}>
}}"#
    );
    let source = source.replace("T {", "tensor<1024x512xf32> {").replace(": T", ": tensor<1024x512xf32>");
    let source = source.replace("(T", "(tensor<1024x512xf32>").replace(", T", ", tensor<1024x512xf32>");
    let source = source.replace("-> T", "-> tensor<1024x512xf32>");
    text::parse("allocations.mlir", &source, &OPS).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

#[test]
fn data_is_allocated_through_accounts() {
    let inputs = [1.5f32, -0.5].map(|v| Literal::splat(DType::F32, [1024, 512], &v.to_le_bytes()));
    for (result, body) in BODIES {
        let source = module(result, body);
        let local = partitioned(&source).unwrap_or_else(|e| panic!("{e}")).module;
        let runs = [
            ("whole", whole(&source, &inputs)),
            ("interp", on(&InterpEngine, &local, &inputs)),
            ("host", on(&HostEngine::default(), &local, &inputs)),
        ];
        for (name, results) in runs {
            results.unwrap_or_else(|e| panic!("{name}: {e}\n{body}"));
        }
        let found = std::mem::take(&mut *FOUND.lock().expect("no test panics while it records"));
        assert!(found.is_empty(), "{} large allocations of\n{body}\nthe first:\n{}", found.len(), found[0]);
    }
    check_collectives_between_many();
}

/// Returns a program with a collective in which each of 256 devices reads a part of each other's row of `%x`.
fn between_many(collective: &str, result: &str, local: &str) -> Module {
    let source = format!(
        r#"sdy.mesh @mesh = <["x"=256]>
func.func @main(%x: tensor<256x256xi32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> (tensor<{result}> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"x"}}]>}}) {{
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{{"x"}}, {{}}]>] out_shardings=[<@mesh, [{{}}, {{"x"}}]>] manual_axes={{"x"}} (%row: tensor<1x256xi32>) {{
    %1 = {collective} : (tensor<1x256xi32>) -> tensor<{local}>
    sdy.return %1 : tensor<{local}>
  }} : (tensor<256x256xi32>) -> tensor<{result}>
  return %0 : tensor<{result}>
}}"#
    );
    text::parse("between_many.mlir", &source, &OPS).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

/// Checks that the host engine runs a collective between many devices without large allocations that no account counts,
/// such as a list of what each device reads from each other one, and that its result is that of the whole program.
fn check_between_many(collective: &str, result: &str, local: &str) {
    let source = between_many(collective, result, local);
    let inputs = [Literal::from_fn([256, 256], |i| (i * 7 % 1009) as i32)];
    let want = whole(&source, &inputs).unwrap_or_else(|e| panic!("whole: {e}\n{collective}"));
    let local = partitioned(&source).unwrap_or_else(|e| panic!("{e}")).module;
    FOUND.lock().expect("no test panics while it records").clear();
    let got = on(&HostEngine::default(), &local, &inputs).unwrap_or_else(|e| panic!("host: {e}\n{collective}"));
    let found = std::mem::take(&mut *FOUND.lock().expect("no test panics while it records"));
    assert!(found.is_empty(), "{} large allocations of\n{collective}\nthe first:\n{}", found.len(), found[0]);
    assert_eq!(got, want, "{collective}");
}

fn check_collectives_between_many() {
    let groups = "replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, \
                  axes = [#stablehlo.axis_ref<name = \"x\">]>";
    let exchange = format!(
        "\"stablehlo.all_to_all\"(%row) <{{split_dimension = 1 : i64, concat_dimension = 0 : i64, \
         split_count = 256 : i64, {groups}}}>"
    );
    check_between_many(&exchange, "256x256xi32", "256x1xi32");
    let sums = format!(
        "\"stablehlo.reduce_scatter\"(%row) <{{scatter_dimension = 1 : i64, {groups}}}> ({{
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }})"
    );
    check_between_many(&sums, "1x256xi32", "1x1xi32");
}
