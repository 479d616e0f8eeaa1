//! Small programs, each of which is compared with the interpreter and with the kernels of its ops.

use crate::HostEngine;
use crate::kernels::testing::{attempt, parse, results, run, run_in_small_programs};
use crate::small::{MAX_SIZE, MAX_SIZE_IN_LOOPS};
use shardwise_base::{Account, Budget, CancelToken, Complex32, Complex64, Literal};

/// Returns a function of these arguments and results. `body` ends with a `return` without types.
fn program(args: &str, results: &str, body: &str) -> String {
    format!("func.func @main({args}) -> ({results}) {{\n{body} : {results}\n}}")
}

/// Returns the text of a loop whose body runs for `%i` from 0 to 6. `carried` has the names in the body, the initial
/// values and the types of the other arrays, which are results `%w#1` and so on. `body` defines `%next0` and so on.
fn repeated(carried: &[(&str, &str, &str)], body: &str) -> String {
    let init: String = carried.iter().map(|(name, from, _)| format!(", {name} = {from}")).collect();
    let types: String = carried.iter().map(|(_, _, ty)| format!(", {ty}")).collect();
    let next: String = (0..carried.len()).map(|k| format!(", %next{k}")).collect();
    format!(
        "%from = stablehlo.constant dense<0> : tensor<i32>
%to = stablehlo.constant dense<7> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%w:{} = stablehlo.while(%i = %from{init}) : tensor<i32>{types} cond {{
  %p = stablehlo.compare LT, %i, %to : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
}} do {{
{body}
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j{next} : tensor<i32>{types}
}}
",
        carried.len() + 1
    )
}

fn thirds(shape: &[usize]) -> Literal {
    let values: Vec<f32> = (0..shape.iter().product()).map(|i: usize| (i * 37 % 101) as f32 / 3.0 - 16.0).collect();
    Literal::new(shape, &values)
}

#[test]
fn ops_of_many_types_are_one_step() {
    let body = "%a = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xf64>
%b = stablehlo.sine %a : tensor<6xf64>
%c = stablehlo.convert %b : (tensor<6xf64>) -> tensor<6xbf16>
%d = stablehlo.reshape %c : (tensor<6xbf16>) -> tensor<2x3xbf16>
%e = stablehlo.transpose %d, dims = [1, 0] : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
%f = stablehlo.multiply %e, %e : tensor<3x2xbf16>
%g = stablehlo.constant dense<[[1, -2], [3, 4], [-5, 6]]> : tensor<3x2xi8>
%h = stablehlo.convert %f : (tensor<3x2xbf16>) -> tensor<3x2xi8>
%k = stablehlo.add %g, %h : tensor<3x2xi8>
%l = stablehlo.convert %k : (tensor<3x2xi8>) -> tensor<3x2xi64>
%m = stablehlo.constant dense<0> : tensor<i64>
%n = stablehlo.compare GT, %k, %g : (tensor<3x2xi8>, tensor<3x2xi8>) -> tensor<3x2xi1>
%o = stablehlo.select %n, %k, %g : tensor<3x2xi1>, tensor<3x2xi8>
%r = stablehlo.reduce(%l init: %m) applies stablehlo.add across dimensions = [0] : (tensor<3x2xi64>, tensor<i64>) -> tensor<2xi64>
%s = stablehlo.reverse %r, dims = [0] : tensor<2xi64>
%t = stablehlo.concatenate %r, %s, dim = 0 : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
%u = stablehlo.pad %t, %m, low = [1], high = [0], interior = [1] : (tensor<4xi64>, tensor<i64>) -> tensor<8xi64>
return %u, %o, %n";
    let source = program("%x: tensor<6xf32>", "tensor<8xi64>, tensor<3x2xi8>, tensor<3x2xi1>", body);
    assert_eq!(run_in_small_programs(&source, &[thirds(&[6])]).len(), 1);
}

#[test]
fn carried_arrays_are_exchanged_and_joined() {
    // The array `%v` is joined from neighbours, one of which the loop has just set.
    let body = "  %next0 = stablehlo.add %b, %b : tensor<2xf32>
  %next1 = stablehlo.reverse %a, dims = [0] : tensor<2xf32>
  %next2 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %next3 = stablehlo.slice %v [1:3] : (tensor<4xf32>) -> tensor<2xf32>
  %next4 = stablehlo.slice %v [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  %next5 = stablehlo.concatenate %y, %a, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>";
    let t = "tensor<2xf32>";
    let u = "tensor<4xf32>";
    let carried =
        [("%a", "%x", t), ("%b", "%y", t), ("%v", "%z", u), ("%c", "%x", t), ("%d", "%x", t), ("%e", "%z", u)];
    let body = repeated(&carried, body) + "return %w#1, %w#2, %w#3, %w#4, %w#5, %w#6";
    let results = [t, t, u, t, t, u].join(", ");
    let source = program(&format!("%x: {t}, %y: {t}, %z: {u}"), &results, &body);
    let inputs = [thirds(&[2]), Literal::new([2], &[3.5f32, -0.25]), thirds(&[4])];
    assert_eq!(run_in_small_programs(&source, &inputs).len(), 1);
}

/// Most large arrays in the tests have 20,000 elements, which are too many for words, also in loops.
const _: () = assert!(MAX_SIZE_IN_LOOPS < 20_000);

#[test]
fn windows_of_large_arrays_change_in_place() {
    let body = "  %zero = stablehlo.constant dense<0> : tensor<i32>
  %row = stablehlo.dynamic_slice %a, %i, %zero, sizes = [1, 5] : (tensor<4000x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x5xf32>
  %last = stablehlo.slice %a [3999:4000, 0:5] : (tensor<4000x5xf32>) -> tensor<1x5xf32>
  %new = stablehlo.add %row, %last : tensor<1x5xf32>
  %k = stablehlo.add %i, %one : tensor<i32>
  %b = stablehlo.dynamic_update_slice %a, %new, %k, %zero : (tensor<4000x5xf32>, tensor<1x5xf32>, tensor<i32>, tensor<i32>) -> tensor<4000x5xf32>
  %again = stablehlo.dynamic_slice %b, %k, %zero, sizes = [1, 5] : (tensor<4000x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x5xf32>
  %far = stablehlo.constant dense<5000> : tensor<i32>
  %next0 = stablehlo.dynamic_update_slice %b, %again, %far, %zero : (tensor<4000x5xf32>, tensor<1x5xf32>, tensor<i32>, tensor<i32>) -> tensor<4000x5xf32>";
    let t = "tensor<4000x5xf32>";
    let last = "%z = stablehlo.constant dense<3> : tensor<i32>
%q = stablehlo.slice %x [0:1, 1:3] : (tensor<4000x5xf32>) -> tensor<1x2xf32>
%after = stablehlo.dynamic_update_slice %w#1, %q, %z, %z : (tensor<4000x5xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4000x5xf32>
return %w#1, %after, %x";
    let source = program(&format!("%x: {t}"), &[t; 3].join(", "), &(repeated(&[("%a", "%x", t)], body) + last));
    let names = run_in_small_programs(&source, &[thirds(&[4000, 5])]);
    assert!(!names.iter().any(|name| name == "stablehlo.while"), "{names:?}");
}

#[test]
fn an_array_that_is_needed_again_is_not_changed() {
    // The inner loop begins with the same array in each turn of the outer one.
    let t = "tensor<20000xf32>";
    let inner = "  %n = stablehlo.constant dense<3> : tensor<i32>
  %v:2 = stablehlo.while(%m = %from, %a = %x) : tensor<i32>, tensor<20000xf32> cond {
    %q = stablehlo.compare LT, %m, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  } do {
    %o = stablehlo.dynamic_slice %a, %m, sizes = [1] : (tensor<20000xf32>, tensor<i32>) -> tensor<1xf32>
    %s = stablehlo.add %o, %o : tensor<1xf32>
    %b = stablehlo.dynamic_update_slice %a, %s, %m : (tensor<20000xf32>, tensor<1xf32>, tensor<i32>) -> tensor<20000xf32>
    %l = stablehlo.add %m, %one : tensor<i32>
    stablehlo.return %l, %b : tensor<i32>, tensor<20000xf32>
  }
  %r = stablehlo.dynamic_slice %v#1, %i, sizes = [2] : (tensor<20000xf32>, tensor<i32>) -> tensor<2xf32>
  %next0 = stablehlo.add %r, %u : tensor<2xf32>";
    let body = repeated(&[("%u", "%y", "tensor<2xf32>")], inner) + "return %w#1";
    let source = program(&format!("%x: {t}, %y: tensor<2xf32>"), "tensor<2xf32>", &body);
    run(&source, &[thirds(&[20_000]), thirds(&[2])]);
    // The same with an array that a loop before has made.
    let made = source.replace("%a = %x)", "%a = %made#1)").replace(
        "%w:2",
        "%made:2 = stablehlo.while(%m = %from, %a = %x) : tensor<i32>, tensor<20000xf32> cond {
    %q = stablehlo.compare LT, %m, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  } do {
    %o = stablehlo.constant dense<0.5> : tensor<1xf32>
    %b = stablehlo.dynamic_update_slice %a, %o, %m : (tensor<20000xf32>, tensor<1xf32>, tensor<i32>) -> tensor<20000xf32>
    %l = stablehlo.add %m, %one : tensor<i32>
    stablehlo.return %l, %b : tensor<i32>, tensor<20000xf32>
  }
%w:2",
    );
    assert_ne!(made, source);
    run(&made, &[thirds(&[20_000]), thirds(&[2])]);
}

#[test]
fn branches_and_products_run_in_loops() {
    let t = "tensor<3x3xf32>";
    let body = "  %even = stablehlo.constant dense<2> : tensor<i32>
  %rest = stablehlo.remainder %i, %even : tensor<i32>
  %c = \"stablehlo.case\"(%rest) ({
    %sq = stablehlo.dot_general %a, %y, contracting_dims = [0] x [1] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    stablehlo.return %sq : tensor<3x3xf32>
  }, {
    %d = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<3x3xi32>
    %e = stablehlo.convert %d : (tensor<3x3xi32>) -> tensor<3x3xf32>
    %f = stablehlo.subtract %a, %e : tensor<3x3xf32>
    stablehlo.return %f : tensor<3x3xf32>
  }) : (tensor<i32>) -> tensor<3x3xf32>
  %is = stablehlo.compare GT, %i, %even : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %next0 = \"stablehlo.if\"(%is) ({ stablehlo.return %c : tensor<3x3xf32> }, { stablehlo.return %y : tensor<3x3xf32> }) : (tensor<i1>) -> tensor<3x3xf32>";
    let source = program(&format!("%x: {t}, %y: {t}"), t, &(repeated(&[("%a", "%x", t)], body) + "return %w#1"));
    let whole = |by: usize| Literal::from_fn([3, 3], |i| ((i * by) % 3) as f32 - 1.0);
    assert_eq!(run_in_small_programs(&source, &[whole(1), whole(2)]).len(), 1);
}

#[test]
fn large_arrays_around_small_ones_keep_their_kernels() {
    let body = "%a = stablehlo.slice %x [3:4, 0:100] : (tensor<50x100xf32>) -> tensor<1x100xf32>
%b = stablehlo.slice %a [0:1, 7:10] : (tensor<1x100xf32>) -> tensor<1x3xf32>
%c = stablehlo.exponential %b : tensor<1x3xf32>
%d = stablehlo.reshape %c : (tensor<1x3xf32>) -> tensor<3xf32>
%e = stablehlo.slice %d [1:2] : (tensor<3xf32>) -> tensor<1xf32>
%f = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
%g = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<50x100xf32>
%h = stablehlo.multiply %x, %g : tensor<50x100xf32>
%k = stablehlo.negate %d : tensor<3xf32>
return %h, %k, %a";
    let results = "tensor<50x100xf32>, tensor<3xf32>, tensor<1x100xf32>";
    let source = program("%x: tensor<50x100xf32>", results, body);
    let names = run_in_small_programs(&source, &[thirds(&[50, 100])]);
    assert!(names.iter().any(|name| name.starts_with("small(")), "{names:?}");
    assert!(names.iter().any(|name| name.contains("multiply") && !name.starts_with("small(")), "{names:?}");
}

/// Tests that a step in front of a large constant may read its array.
#[test]
fn large_constants_of_all_dialects_are_read() {
    for dialect in ["stablehlo", "sdy", "chlo"] {
        let numbers: Vec<String> = (0..20_000).map(|i| format!("{}.5", i % 9)).collect();
        let body = format!(
            "%a = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<20000xf32>, tensor<i32>) -> tensor<2xf32>
%b = stablehlo.negate %a : tensor<2xf32>
%c = {dialect}.constant dense<[{}]> : tensor<20000xf32>
%d = stablehlo.dynamic_slice %c, %i, sizes = [2] : (tensor<20000xf32>, tensor<i32>) -> tensor<2xf32>
%e = stablehlo.add %b, %d : tensor<2xf32>
return %e, %c",
            numbers.join(", ")
        );
        let source = program("%x: tensor<20000xf32>, %i: tensor<i32>", "tensor<2xf32>, tensor<20000xf32>", &body);
        run(&source, &[thirds(&[20_000]), Literal::scalar(7i32)]);
    }
}

/// Tests that an op with an attribute named `value`, as the array of a constant is, is computed and is no constant.
#[test]
fn an_attribute_of_another_op_is_no_constant() {
    let t = "tensor<4xf32>";
    let body = "%a = stablehlo.add %x, %x {value = dense<7.0> : tensor<4xf32>} : tensor<4xf32>
%b = stablehlo.multiply %a, %x : tensor<4xf32>
%c = stablehlo.reverse %b, dims = [0] : tensor<4xf32>
return %c";
    let source = program(&format!("%x: {t}"), t, body);
    assert_eq!(run_in_small_programs(&source, &[thirds(&[4])]).len(), 1);
}

#[test]
fn products_have_the_bits_of_their_kernels() {
    for t in ["f32", "f64"] {
        let source = format!(
            "func.func @main(%x: tensor<2x4x6xf32>, %y: tensor<2x6x5xf32>) -> tensor<2x4x5x{t}> {{
  %a = stablehlo.convert %x : (tensor<2x4x6xf32>) -> tensor<2x4x6x{t}>
  %b = stablehlo.convert %y : (tensor<2x6x5xf32>) -> tensor<2x6x5x{t}>
  %c = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : (tensor<2x4x6x{t}>, tensor<2x6x5x{t}>) -> tensor<2x4x5x{t}>
  return %c : tensor<2x4x5x{t}>
}}"
        );
        let (module, inputs) = (parse(&source), [thirds(&[2, 4, 6]), thirds(&[2, 6, 5])]);
        let (small, times) = results(&HostEngine::default(), &module, &inputs);
        assert_eq!(times.len(), 1, "{times:?}");
        let (by_kernels, _) = results(&HostEngine::default().without_runs(), &module, &inputs);
        assert_eq!(small, by_kernels, "{t}");
    }
}

/// Tests arrays in loops, most of them in lengths that are no multiples of a vector's, and some of them larger than
/// outside of loops. The bits are those of kernels. (The interpreter sums products in another order.)
#[test]
fn loops_have_larger_arrays() {
    let small = [(4, 32, 32), (3, 5, 33), (1, 40, 7), (7, 9, 65), (2, 120, 8), (30, 1, 11)];
    let large = [(50, 4, 40), (3, 5, 401), (9, 120, 30)];
    for (m, k, n) in large {
        assert!([m * k, k * n, m * n].into_iter().any(|size| size > MAX_SIZE), "{m} {k} {n}");
    }
    for (m, k, n) in small.into_iter().chain(large) {
        for transposed in [false, true] {
            let (a, b, c) =
                (format!("tensor<{m}x{k}xf32>"), format!("tensor<{k}x{n}xf32>"), format!("tensor<{m}x{n}xf32>"));
            let w = if transposed { format!("tensor<{n}x{k}xf32>") } else { b };
            let of_w = usize::from(transposed);
            let body = format!(
                "  %low = stablehlo.constant dense<-1.0> : tensor<f32>
  %0 = stablehlo.dot_general %a, %w0, contracting_dims = [1] x [{of_w}] : ({a}, {w}) -> {c}
  %1 = stablehlo.tanh %0 : {c}
  %next1 = stablehlo.add %1, %b : {c}
  %2 = stablehlo.reduce(%next1 init: %low) applies stablehlo.maximum across dimensions = [1] : ({c}, tensor<f32>) -> tensor<{m}xf32>
  %3 = stablehlo.reduce(%a init: %low) applies stablehlo.add across dimensions = [0] : ({a}, tensor<f32>) -> tensor<{k}xf32>
  %4 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<{m}xf32>) -> {a}
  %5 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<{k}xf32>) -> {a}
  %6 = stablehlo.multiply %4, %5 : {a}
  %7 = stablehlo.compare GT, %a, %6 : ({a}, {a}) -> tensor<{m}x{k}xi1>
  %8 = stablehlo.exponential %6 : {a}
  %9 = stablehlo.select %7, %8, %a : tensor<{m}x{k}xi1>, {a}
  %next0 = stablehlo.logistic %9 : {a}"
            );
            let args = format!("%x: {a}, %y: {c}, %w0: {w}");
            let carried = [("%a", "%x", &a[..]), ("%b", "%y", &c[..])];
            let source = program(&args, &format!("{a}, {c}"), &(repeated(&carried, &body) + "return %w#1, %w#2"));
            let shape = if transposed { [n, k] } else { [k, n] };
            let (module, inputs) = (parse(&source), [thirds(&[m, k]), thirds(&[m, n]), thirds(&shape)]);
            let engines = [HostEngine::default(), HostEngine::default().without_runs()];
            let [(small, own), (kernels, others)] = engines.map(|engine| results(&engine, &module, &inputs));
            assert_eq!((own.len(), others.is_empty()), (1, false), "{own:?}");
            for (small, kernels) in small.iter().zip(&kernels) {
                assert_eq!(small.raw_bytes(), kernels.raw_bytes(), "{source}");
            }
        }
    }
}

/// Checks the results of a loop whose body has ops on constants, which run when the program is built, and ops on values
/// that no turn changes, which run before the loop.
#[test]
fn constants_and_invariants_are_computed_once() {
    let body = "  %0 = stablehlo.iota dim = 0 : tensor<6xi32>
  %1 = stablehlo.broadcast_in_dim %to, dims = [] : (tensor<i32>) -> tensor<6xi32>
  %2 = stablehlo.multiply %0, %1 : tensor<6xi32>
  %3 = stablehlo.convert %2 : (tensor<6xi32>) -> tensor<6xf32>
  %4 = stablehlo.sine %x : tensor<6xf32>
  %5 = stablehlo.multiply %3, %4 : tensor<6xf32>
  %6 = stablehlo.reverse %5, dims = [0] : tensor<6xf32>
  %v:2 = stablehlo.while(%k = %from, %u = %a) : tensor<i32>, tensor<6xf32> cond {
    %p = stablehlo.compare LT, %k, %to : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %7 = stablehlo.exponential %6 : tensor<6xf32>
    %8 = stablehlo.add %u, %7 : tensor<6xf32>
    %l = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %l, %8 : tensor<i32>, tensor<6xf32>
  }
  %next0 = stablehlo.subtract %v#1, %6 : tensor<6xf32>
  %next1 = stablehlo.add %0, %2 : tensor<6xi32>";
    let carried = [("%a", "%x", "tensor<6xf32>"), ("%b", "%y", "tensor<6xi32>")];
    let body = repeated(&carried, body) + "return %w#1, %w#2";
    let source = program("%x: tensor<6xf32>, %y: tensor<6xi32>", "tensor<6xf32>, tensor<6xi32>", &body);
    let inputs = [thirds(&[6]), Literal::from_fn([6], |k| k as i32)];
    assert_eq!(run_in_small_programs(&source, &inputs).len(), 1);
}

/// Tests rows of a small and of a large array, and columns of a small one, at indices of which some are outside.
#[test]
fn gathers_are_windows() {
    let gather = |x: &str, dims: &str, sizes: &str, types: &str| {
        format!(
            "\"stablehlo.gather\"({x}, %k) <{{dimension_numbers = #stablehlo.gather<{dims}, index_vector_dim = 1>, \
             slice_sizes = array<i64: {sizes}>}}> : {types}"
        )
    };
    let rows = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0]";
    let columns = "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1]";
    let body = format!(
        "%q = stablehlo.constant dense<[[-3], [1], [900]]> : tensor<3x1xi32>
%k = stablehlo.add %q, %i : tensor<3x1xi32>
%a = {}
%b = {}
%c = {}
%d = stablehlo.add %a, %c : tensor<3x4xf32>
return %d, %b",
        gather("%x", rows, "1, 4", "(tensor<5x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>"),
        gather("%x", columns, "5, 1", "(tensor<5x4xf32>, tensor<3x1xi32>) -> tensor<5x3xf32>"),
        gather("%y", rows, "1, 4", "(tensor<700x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>"),
    );
    let args = "%x: tensor<5x4xf32>, %y: tensor<700x4xf32>, %i: tensor<3x1xi32>";
    let source = program(args, "tensor<3x4xf32>, tensor<5x3xf32>", &body);
    let names =
        run_in_small_programs(&source, &[thirds(&[5, 4]), thirds(&[700, 4]), Literal::new([3, 1], &[1i32, 2, 3])]);
    assert!(names.iter().all(|name| name.starts_with("small(")), "{names:?}");
}

/// Tests updates that meet, and updates outside of the array, in a loop.
#[test]
fn scatters_are_windows() {
    for (op, elem) in [("add", "f32"), ("maximum", "f32"), ("multiply", "i32"), ("minimum", "i64"), ("", "bf16")] {
        let region = match op {
            "" => "stablehlo.return %n : tensor<ELEM>".to_string(),
            _ => format!("%s = stablehlo.{op} %m, %n : tensor<ELEM>\n stablehlo.return %s : tensor<ELEM>"),
        };
        let body = "  %c = stablehlo.constant dense<[[1], [-1], [1], [4]]> : tensor<4x1xi32>
  %b = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
  %k = stablehlo.add %c, %b : tensor<4x1xi32>
  %u = stablehlo.slice %a [0:4, 0:3] : (tensor<6x3xELEM>) -> tensor<4x3xELEM>
  %next0 = \"stablehlo.scatter\"(%a, %k, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%m: tensor<ELEM>, %n: tensor<ELEM>):
    REGION
  }) : (tensor<6x3xELEM>, tensor<4x1xi32>, tensor<4x3xELEM>) -> tensor<6x3xELEM>";
        let body = body.replace("REGION", &region).replace("ELEM", elem);
        let ty = format!("tensor<6x3x{elem}>");
        let text = format!(
            "%f = stablehlo.convert %x : (tensor<6x3xf32>) -> {ty}\n{}return %w#1",
            repeated(&[("%a", "%f", &ty)], &body)
        );
        let source = program("%x: tensor<6x3xf32>", &ty, &text);
        let names = run_in_small_programs(&source, &[thirds(&[6, 3])]);
        assert!(names.iter().any(|name| name.starts_with("small(")), "{op} {names:?}");
    }
}

#[test]
fn routines_compute_whole_arrays() {
    let t = "tensor<4x5xf32>";
    let body = "  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %n = stablehlo.iota dim = 1 : tensor<4x5xi32>
  %start = stablehlo.constant dense<0> : tensor<i32>
  %m:2 = stablehlo.reduce(%a init: %least), (%n init: %start) across dimensions = [1] : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%v: tensor<f32>, %u: tensor<f32>) (%k: tensor<i32>, %l: tensor<i32>) {
    %g = stablehlo.compare GT, %v, %u, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %e = stablehlo.compare EQ, %v, %u, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %f = stablehlo.compare LT, %k, %l, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %d = stablehlo.and %f, %e : tensor<i1>
    %o = stablehlo.or %g, %d : tensor<i1>
    %q = stablehlo.select %g, %v, %u : tensor<i1>, tensor<f32>
    %r = stablehlo.select %o, %k, %l : tensor<i1>, tensor<i32>
    stablehlo.return %q, %r : tensor<f32>, tensor<i32>
  }
  %row = stablehlo.broadcast_in_dim %m#0, dims = [0] : (tensor<4xf32>) -> tensor<4x5xf32>
  %s:2 = \"stablehlo.sort\"(%a, %n) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%v: tensor<f32>, %u: tensor<f32>, %k: tensor<i32>, %l: tensor<i32>):
    %x1 = stablehlo.abs %v : tensor<f32>
    %x2 = stablehlo.abs %u : tensor<f32>
    %g = stablehlo.compare LT, %x1, %x2, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }) : (tensor<4x5xf32>, tensor<4x5xi32>) -> (tensor<4x5xf32>, tensor<4x5xi32>)
  %sums = \"stablehlo.reduce_window\"(%s#0, %zero) <{window_dimensions = array<i64: 1, 5>, padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%v: tensor<f32>, %u: tensor<f32>):
    %g = stablehlo.add %v, %u : tensor<f32>
    stablehlo.return %g : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  %most = \"stablehlo.reduce_window\"(%sums, %least) <{window_dimensions = array<i64: 2, 3>, padding = dense<[[1, 0], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%v: tensor<f32>, %u: tensor<f32>):
    %g = stablehlo.maximum %v, %u : tensor<f32>
    stablehlo.return %g : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  %order = stablehlo.convert %s#1 : (tensor<4x5xi32>) -> tensor<4x5xf32>
  %sum = stablehlo.add %most, %order : tensor<4x5xf32>
  %less = stablehlo.subtract %sum, %row : tensor<4x5xf32>
  %half = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x5xf32>
  %next0 = stablehlo.multiply %less, %half : tensor<4x5xf32>
  %next1 = stablehlo.add %m#1, %p1 : tensor<4xi32>";
    let carried = [("%a", "%x", t), ("%p1", "%y", "tensor<4xi32>")];
    let body = repeated(&carried, body) + "return %w#1, %w#2";
    let source = program(&format!("%x: {t}, %y: tensor<4xi32>"), &format!("{t}, tensor<4xi32>"), &body);
    let mut given = thirds(&[4, 5]).to_dense().as_slice::<f32>().to_vec();
    for (at, special) in [(3, f32::NAN), (11, -0.0), (12, 0.0)] {
        given[at] = special;
        let inputs = [Literal::new([4, 5], &given), Literal::new([4], &[1, 2, 3, 4])];
        assert_eq!(run_in_small_programs(&source, &inputs).len(), 1);
    }
}

#[test]
fn matrices_are_factored_and_solved() {
    for elem in ["f32", "f64", "bf16"] {
        let [a, b] = [format!("tensor<2x3x3x{elem}>"), format!("tensor<2x3x1x{elem}>")];
        let body = format!(
            "  %l = stablehlo.cholesky %m, lower = true : {a}
  %next0 = \"stablehlo.triangular_solve\"(%l, %b) <{{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}}> : ({a}, {b}) -> {b}"
        );
        let source = program(
            "%x: tensor<2x3x3xf32>, %y: tensor<2x3x1xf32>",
            &b,
            &format!(
                "%m = stablehlo.convert %x : (tensor<2x3x3xf32>) -> {a}
%z = stablehlo.convert %y : (tensor<2x3x1xf32>) -> {b}
{}return %w#1",
                repeated(&[("%b", "%z", &b)], &body)
            ),
        );
        let element = |k: usize| if k.is_multiple_of(4) { 6.0f32 } else { (k % 5) as f32 / 4.0 };
        let inputs = [Literal::from_fn([2, 3, 3], element), Literal::from_fn([2, 3, 1], element)];
        assert_eq!(run_in_small_programs(&source, &inputs).len(), 1, "{elem}");
    }
}

#[test]
fn arrays_without_elements_do_not_end_a_program() {
    let [e, t] = ["tensor<0x3xf32>", "tensor<2x3xf32>"];
    let body = "  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %h = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<0x3xf32>
  %next0 = stablehlo.add %e, %h : tensor<0x3xf32>
  %g = stablehlo.reverse %next0, dims = [1] : tensor<0x3xf32>
  %f = stablehlo.concatenate %g, %a, dim = 0 : (tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %k = stablehlo.slice %f [2:2, 0:3] : (tensor<2x3xf32>) -> tensor<0x3xf32>
  %next1 = stablehlo.pad %k, %c, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<2x3xf32>";
    let body = repeated(&[("%e", "%x", e), ("%a", "%y", t)], body) + "return %w#1, %w#2";
    let source = program(&format!("%x: {e}, %y: {t}"), &format!("{e}, {t}"), &body);
    let inputs = [Literal::new([0, 3], &[] as &[f32]), thirds(&[2, 3])];
    let names = run_in_small_programs(&source, &inputs);
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn reductions_of_no_elements_are_steps_of_their_own() {
    let source = program(
        "%x: tensor<0x3xf32>, %y: tensor<3xf32>",
        "tensor<3xf32>",
        "%c = stablehlo.constant dense<0.5> : tensor<f32>
%s = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
%m = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<0x3xf32>, tensor<0x3xf32>) -> tensor<3x3xf32>
%r = stablehlo.reduce(%m init: %c) applies stablehlo.add across dimensions = [0] : (tensor<3x3xf32>, tensor<f32>) -> tensor<3xf32>
%t = stablehlo.add %s, %y : tensor<3xf32>
%u = stablehlo.multiply %t, %r : tensor<3xf32>
return %u",
    );
    run_in_small_programs(&source, &[Literal::new([0, 3], &[] as &[f32]), thirds(&[3])]);
}

#[test]
fn loops_in_loops_take_the_steps_of_their_turns() {
    let t = "tensor<40xf32>";
    let mut body = "  %b0 = stablehlo.negate %a0 : tensor<40xf32>".to_string();
    for d in 0..4 {
        let o = d + 1;
        body = format!(
            "%w{d}:2 = stablehlo.while(%i{d} = %from, %a{d} = %a{o}) : tensor<i32>, {t} cond {{
  %p{d} = stablehlo.compare LT, %i{d}, %to : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p{d} : tensor<i1>
}} do {{
{body}
  %j{d} = stablehlo.add %i{d}, %one : tensor<i32>
  stablehlo.return %j{d}, %b{d} : tensor<i32>, {t}
}}
%b{o} = stablehlo.abs %w{d}#1 : {t}"
        );
    }
    let constant = |name: &str, n: i32| format!("{name} = stablehlo.constant dense<{n}> : tensor<i32>\n");
    let constants = [("%from", 0), ("%to", 7), ("%one", 1)].map(|(name, n)| constant(name, n)).concat();
    let source = program(&format!("%a4: {t}"), t, &format!("{constants}{body}\nreturn %b4"));
    let budget = Budget::new(Account::with_limit(1 << 30), Some(200_000), CancelToken::default());
    let names = budget.run(|| run_in_small_programs(&source, &[thirds(&[40])])).expect("there are 2800 turns");
    assert_eq!(names.len(), 1, "{names:?}");
}

/// Checks that a loop that goes on as machine code has the interpreter's results and takes its steps.
#[test]
fn a_long_loop_becomes_machine_code() {
    let body = "%z = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%half = stablehlo.constant dense<0.5> : tensor<3xf32>
%w:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i32>, tensor<3xf32> cond {
  %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
} do {
  %s = stablehlo.sine %a : tensor<3xf32>
  %m = stablehlo.multiply %a, %half : tensor<3xf32>
  %b = stablehlo.add %s, %m : tensor<3xf32>
  %j = stablehlo.add %i, %one : tensor<i32>
  stablehlo.return %j, %b : tensor<i32>, tensor<3xf32>
}
return %w#1";
    let source = program("%x: tensor<3xf32>, %n: tensor<i32>", "tensor<3xf32>", body);
    let inputs = |turns: i32| [thirds(&[3]), Literal::scalar(turns)];
    run(&source, &inputs(2000));
    let module = parse(&source);
    let [steps, eager] = [HostEngine::default(), HostEngine::guarded(0xa5)].map(|engine| {
        let budget = Budget::new(Account::with_limit(1 << 30), None, CancelToken::default());
        budget.run(|| drop(results(&engine, &module, &inputs(2000)))).expect("there is no limit");
        let limited = Budget::new(Account::with_limit(1 << 30), Some(100_000), CancelToken::default());
        let stopped = limited.run(|| attempt(&engine, &module, &inputs(i32::MAX)).err().map(|e| e.0[0].code));
        assert_eq!(stopped, Ok(Some("run-steps")));
        budget.steps()
    });
    assert!(steps > 2000 * 5, "{steps} steps");
    assert_eq!(steps, eager);
}

/// Checks ops on complex numbers of both widths, in a loop and outside. All numbers are exact.
#[test]
fn complex_numbers_are_pairs_of_words() {
    for (real, complex) in [("f32", "complex<f32>"), ("f64", "complex<f64>")] {
        let inner = "  %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x2xC>) -> tensor<2x2xC>
  %u = stablehlo.multiply %t, %y : tensor<2x2xC>
  %v = stablehlo.dot_general %u, %y, contracting_dims = [1] x [0] : (tensor<2x2xC>, tensor<2x2xC>) -> tensor<2x2xC>
  %r = stablehlo.real %v : (tensor<2x2xC>) -> tensor<2x2xR>
  %q = stablehlo.imag %u : (tensor<2x2xC>) -> tensor<2x2xR>
  %o = stablehlo.compare GT, %r, %q : (tensor<2x2xR>, tensor<2x2xR>) -> tensor<2x2xi1>
  %k = stablehlo.select %o, %a, %y : tensor<2x2xi1>, tensor<2x2xC>
  %e = stablehlo.dynamic_slice %k, %i, %one, sizes = [1, 2] : (tensor<2x2xC>, tensor<i32>, tensor<i32>) -> tensor<1x2xC>
  %next0 = stablehlo.dynamic_update_slice %y, %e, %one, %i : (tensor<2x2xC>, tensor<1x2xC>, tensor<i32>, tensor<i32>) -> tensor<2x2xC>";
        let after = "%b = stablehlo.reverse %w#1, dims = [0] : tensor<2x2xC>
%c = stablehlo.concatenate %b, %y, dim = 1 : (tensor<2x2xC>, tensor<2x2xC>) -> tensor<2x4xC>
%zero = stablehlo.constant dense<(0.0, -0.0)> : tensor<C>
%d = stablehlo.pad %c, %zero, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<2x4xC>, tensor<C>) -> tensor<2x5xC>
%s = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x5xC>, tensor<C>) -> tensor<5xC>
%n = stablehlo.constant dense<[[3], [0], [9]]> : tensor<3x1xi32>
%g = \"stablehlo.gather\"(%d, %m) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1],
  start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1>}> : (tensor<2x5xC>, tensor<3x1xi32>) -> tensor<2x3xC>
%h = \"stablehlo.gather\"(%d, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
  start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<2x5xC>, tensor<3x1xi32>) -> tensor<3x5xC>
%j = stablehlo.complex %f, %f : tensor<2x2xC>
%l = stablehlo.subtract %j, %b : tensor<2x2xC>
%p = stablehlo.slice %d [1:2, 0:5] : (tensor<2x5xC>) -> tensor<1x5xC>
%q = stablehlo.dot_general %d, %p, batching_dims = [1] x [1], contracting_dims = [] x []
  : (tensor<2x5xC>, tensor<1x5xC>) -> tensor<5x2x1xC>
return %s, %g, %h, %l, %q";
        let loops = repeated(&[("%a", "%x", "tensor<2x2xC>")], inner);
        let args = "%x: tensor<2x2xC>, %y: tensor<2x2xC>, %f: tensor<2x2xR>, %m: tensor<3x1xi32>";
        let results = "tensor<5xC>, tensor<2x3xC>, tensor<3x5xC>, tensor<2x2xC>, tensor<5x2x1xC>";
        let source = program(args, results, &(loops + after)).replace("xC>", &format!("x{complex}>"));
        let source = source.replace("tensor<C>", &format!("tensor<{complex}>")).replace("xR>", &format!("x{real}>"));
        let part = |i: usize| [1.0, -2.0, 0.5, 3.0, -0.25][i % 5];
        let wide = |k: usize| Literal::from_fn([2, 2], |i| Complex64::new(part(i + k), part(2 * i + k)));
        let narrow =
            |k: usize| Literal::from_fn([2, 2], |i| Complex32::new(part(i + k) as f32, part(2 * i + k) as f32));
        let [x, y, f] = match real {
            "f32" => [narrow(0), narrow(3), Literal::from_fn([2, 2], |i| part(i) as f32)],
            _ => [wide(0), wide(3), Literal::from_fn([2, 2], part)],
        };
        let names = run_in_small_programs(&source, &[x, y, f, Literal::new([3, 1], &[4i32, -1, 7])]);
        assert_eq!(names.len(), 1, "{names:?}");
    }
}

/// Checks elementwise ops on complex numbers of both widths, among them zeros of both signs, and comparisons of
/// infinities and NaN.
/// Results of `f32` are rounded.
#[test]
fn complex_numbers_are_computed_by_parts() {
    for (real, complex) in [("f32", "complex<f32>"), ("f64", "complex<f64>")] {
        let body = "%a = stablehlo.multiply %x, %y : tensor<4x9xC>
%c = chlo.conj %a : tensor<4x9xC> -> tensor<4x9xC>
%d = chlo.square %y : tensor<4x9xC> -> tensor<4x9xC>
%e = stablehlo.compare EQ, %special, %special : (tensor<4x9xC>, tensor<4x9xC>) -> tensor<4x9xi1>
%f = stablehlo.compare NE, %special, %x : (tensor<4x9xC>, tensor<4x9xC>) -> tensor<4x9xi1>
%g = stablehlo.select %e, %c, %d : tensor<4x9xi1>, tensor<4x9xC>
%h = stablehlo.add %g, %x : tensor<4x9xC>
%k = stablehlo.negate %h : tensor<4x9xC>
%l = stablehlo.subtract %k, %y : tensor<4x9xC>
%m = stablehlo.real %x : (tensor<4x9xC>) -> tensor<4x9xR>
%n = stablehlo.convert %m : (tensor<4x9xR>) -> tensor<4x9xC>
%o = stablehlo.convert %i : (tensor<4x9xi32>) -> tensor<4x9xC>
%p = stablehlo.convert %e : (tensor<4x9xi1>) -> tensor<4x9xC>
%q = stablehlo.slice %x [2:3, 4:5] : (tensor<4x9xC>) -> tensor<1x1xC>
%r = stablehlo.reshape %q : (tensor<1x1xC>) -> tensor<C>
%s = stablehlo.multiply %r, %r : tensor<C>
%t = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<C>) -> tensor<4x9xC>
%u = stablehlo.multiply %t, %n : tensor<4x9xC>
%at = stablehlo.constant dense<[[7], [2]]> : tensor<2x1xi32>
%v = \"stablehlo.scatter\"(%special, %at, %w) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0],
  inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
^bb0(%old: tensor<C>, %new: tensor<C>):
  stablehlo.return %new : tensor<C>
}) : (tensor<4x9xC>, tensor<2x1xi32>, tensor<4x2xC>) -> tensor<4x9xC>
return %a, %l, %f, %o, %p, %u, %v";
        let args = "%x: tensor<4x9xC>, %y: tensor<4x9xC>, %w: tensor<4x2xC>, %i: tensor<4x9xi32>, \
                    %special: tensor<4x9xC>";
        let results = "tensor<4x9xC>, tensor<4x9xC>, tensor<4x9xi1>, tensor<4x9xC>, tensor<4x9xC>, \
                       tensor<4x9xC>, tensor<4x9xC>";
        let source = program(args, results, body).replace("xC>", &format!("x{complex}>"));
        let source = source.replace("tensor<C>", &format!("tensor<{complex}>")).replace("xR>", &format!("x{real}>"));
        let numbers = [0.1, -0.0, 3.7, 1e9, -1e30, 0.0, -2.3, 0.9, 1e-30, 7.1, -0.7, f64::NAN, f64::INFINITY];
        let number = |k: usize, of: usize| Complex64::new(numbers[k % of], numbers[(3 * k + k / of) % of]);
        let array = |shape: [usize; 2], first: usize, of: usize| match real {
            "f32" => Literal::from_fn(shape, |k| {
                let Complex64 { re, im } = number(first + k, of);
                Complex32::new(re as f32, im as f32)
            }),
            _ => Literal::from_fn(shape, |k| number(first + k, of)),
        };
        let integers = Literal::from_fn([4, 9], |k| [16_777_217, -3, i32::MAX, 0][k % 4]);
        let [x, y] = [0, 5].map(|first| array([4, 9], first, 11));
        let inputs = [x, y, array([4, 2], 8, 11), integers, array([4, 9], 0, 13)];
        let names = run_in_small_programs(&source, &inputs);
        assert_eq!(names.len(), 1, "{names:?}");
    }
}

/// Checks windows of a large complex array, which are read and written in a loop.
#[test]
fn windows_of_large_complex_arrays_are_words() {
    let inner = "  %a = stablehlo.dynamic_slice %t, %i, %one, sizes = [1, 3]
    : (tensor<9x3000xcomplex<f32>>, tensor<i32>, tensor<i32>) -> tensor<1x3xcomplex<f32>>
  %b = stablehlo.multiply %a, %a : tensor<1x3xcomplex<f32>>
  %next0 = stablehlo.dynamic_update_slice %t, %b, %one, %i
    : (tensor<9x3000xcomplex<f32>>, tensor<1x3xcomplex<f32>>, tensor<i32>, tensor<i32>) -> tensor<9x3000xcomplex<f32>>";
    let loops = repeated(&[("%t", "%x", "tensor<9x3000xcomplex<f32>>")], inner);
    let source = program(
        "%x: tensor<9x3000xcomplex<f32>>, %m: tensor<4x1xi32>",
        "tensor<9x3000xcomplex<f32>>, tensor<4x3000xcomplex<f32>>",
        &(loops
            + "%g = \"stablehlo.gather\"(%x, %m) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
  collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3000>}>
  : (tensor<9x3000xcomplex<f32>>, tensor<4x1xi32>) -> tensor<4x3000xcomplex<f32>>
return %w#1, %g"),
    );
    let x = Literal::from_fn([9, 3000], |k| Complex32::new((k % 7) as f32 - 3.0, (k % 5) as f32));
    run_in_small_programs(&source, &[x, Literal::new([4, 1], &[4i32, -1, 7, 8])]);
}

/// Checks gathers of many single elements by indices of several types, some of them outside of the array, and scatters
/// to ranges that are known.
#[test]
fn many_slices_are_one_window() {
    for index in ["i32", "i64", "ui32", "i8"] {
        let body = "%k = stablehlo.convert %j : (tensor<3x90x1xi32>) -> tensor<3x90x1xINDEX>
%a = \"stablehlo.gather\"(%x, %k) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0],
  start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}>
  : (tensor<3x40xf32>, tensor<3x90x1xINDEX>) -> tensor<3x90xf32>
%s = stablehlo.slice %a [0:3, 0:5] : (tensor<3x90xf32>) -> tensor<3x5xf32>
%at = stablehlo.constant dense<7> : tensor<1xINDEX>
%b = \"stablehlo.scatter\"(%x, %at, %s) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1],
  scatter_dims_to_operand_dims = [1]>}> ({
^bb0(%m: tensor<f32>, %n: tensor<f32>):
  stablehlo.return %n : tensor<f32>
}) : (tensor<3x40xf32>, tensor<1xINDEX>, tensor<3x5xf32>) -> tensor<3x40xf32>
%t = stablehlo.slice %b [0:3, 0:20] : (tensor<3x40xf32>) -> tensor<3x20xf32>
%c = stablehlo.concatenate %b, %b, %b, dim = 1 : (tensor<3x40xf32>, tensor<3x40xf32>, tensor<3x40xf32>) -> tensor<3x120xf32>
%d = \"stablehlo.scatter\"(%c, %at, %t) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1],
  scatter_dims_to_operand_dims = [1]>}> ({
^bb0(%m: tensor<f32>, %n: tensor<f32>):
  %o = stablehlo.add %m, %n : tensor<f32>
  stablehlo.return %o : tensor<f32>
}) : (tensor<3x120xf32>, tensor<1xINDEX>, tensor<3x20xf32>) -> tensor<3x120xf32>
return %a, %b, %d";
        let results = "tensor<3x90xf32>, tensor<3x40xf32>, tensor<3x120xf32>";
        let source = program("%x: tensor<3x40xf32>, %j: tensor<3x90x1xi32>", results, &body.replace("INDEX", index));
        let indices: Vec<i32> = (0..270).map(|i: i32| i * 7 % 53 - 5).collect();
        let names = run_in_small_programs(&source, &[thirds(&[3, 40]), Literal::new([3, 90, 1], &indices)]);
        assert_eq!(names.len(), 1, "{names:?}");
    }
}

/// Tests updates whose slices overlap, and whose first dimension is that of a slice: the last one numbers the slices.
#[test]
fn updates_of_one_element_are_applied_in_row_major_order() {
    for computed in ["", "  %s = stablehlo.add %m, %n : tensor<f32>\n"] {
        let result = if computed.is_empty() { "%n" } else { "%s" };
        let body = format!(
            "%i = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
%a = \"stablehlo.scatter\"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0],
  scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
^bb0(%m: tensor<f32>, %n: tensor<f32>):
{computed}  stablehlo.return {result} : tensor<f32>
}}) : (tensor<3xf32>, tensor<2x1xi32>, tensor<2x2xf32>) -> tensor<3xf32>
%b = stablehlo.negate %a : tensor<3xf32>
return %b"
        );
        let source = program("%x: tensor<3xf32>, %u: tensor<2x2xf32>", "tensor<3xf32>", &body);
        run(&source, &[Literal::new([3], &[0.5f32, 1e8, 2.0]), Literal::new([2, 2], &[3.0f32, -1e8, 1.0, 0.25])]);
    }
}

/// Tests loops and branches that return an array that the program holds as a large one, because an op before them read
/// a window of it, where they have small arrays.
#[test]
fn large_arrays_do_not_become_small_ones() {
    let branches = "  %c = \"stablehlo.case\"(%i) ({
    stablehlo.return %a : tensor<5000xf32>
  }, {
    stablehlo.return %y : tensor<5000xf32>
  }, {
    stablehlo.return %a : tensor<5000xf32>
  }) : (tensor<i32>) -> tensor<5000xf32>
";
    for (branches, next) in [("", "%y"), (branches, "%c")] {
        let body = format!(
            "%v = stablehlo.slice %y [2167:2175] : (tensor<5000xf32>) -> tensor<8xf32>
%zero = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%w:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<5000xf32> cond {{
  %p = stablehlo.compare LE, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %p : tensor<i1>
}} do {{
{branches}  %j0 = stablehlo.add %i, %one : tensor<i32>
  %j1 = stablehlo.add %j0, %one : tensor<i32>
  %j2 = stablehlo.add %j1, %one : tensor<i32>
  %j3 = stablehlo.subtract %j2, %one : tensor<i32>
  %j4 = stablehlo.subtract %j3, %one : tensor<i32>
  stablehlo.return %j4, {next} : tensor<i32>, tensor<5000xf32>
}}
return %w#1, %v"
        );
        let source = program("%x: tensor<5000xf32>, %y: tensor<5000xf32>", "tensor<5000xf32>, tensor<8xf32>", &body);
        run(&source, &[thirds(&[5000]), Literal::from_fn([5000], |i| i as f32)]);
    }
}
