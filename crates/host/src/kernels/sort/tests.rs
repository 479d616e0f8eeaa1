//! Tests both orders of many types, with ties, NaNs and both zeros.

use crate::block::tests::Random;
use crate::kernels::testing::{run, run_by_kernels, tensor};
use shardwise_base::{Literal, bf16};

fn values(shape: &[usize], random: &mut Random) -> Literal {
    let special = [0.0, -0.0, f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.5, -1.5];
    let mut draw = |_: usize| match random.next() % 3 {
        0 => special[random.next() as usize % special.len()],
        _ => (random.next() % 9) as f32 - 4.0,
    };
    Literal::new(shape, &(0..shape.iter().product()).map(&mut draw).collect::<Vec<_>>())
}

/// Returns a program that sorts elements and their positions by the ops `compare`. They compute `%c`, which is true if
/// `%a` must come before `%b`.
fn program(shape: &[usize], dim: usize, elem: &str, compare: &str) -> String {
    let (given, x, i) = (tensor(shape, "f32"), tensor(shape, elem), tensor(shape, "i32"));
    format!(
        "func.func @main(%x: {given}) -> ({x}, {i}) {{
  %0 = stablehlo.convert %x : ({given}) -> {x}
  %1 = stablehlo.iota dim = {dim} : {i}
  %2:2 = \"stablehlo.sort\"(%0, %1) <{{dimension = {dim} : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<{elem}>, %b: tensor<{elem}>, %i: tensor<i32>, %j: tensor<i32>):
{compare}
    stablehlo.return %c : tensor<i1>
  }}) : ({x}, {i}) -> ({x}, {i})
  return %2#0, %2#1 : {x}, {i}
}}"
    )
}

fn compare(name: &str, direction: &str, kind: &str, [a, b]: [&str; 2], elem: &str) -> String {
    format!(
        "    %{name} = stablehlo.compare {direction}, {a}, {b}, {kind} : (tensor<{elem}>, tensor<{elem}>) -> tensor<i1>\n"
    )
}

const SHAPES: [(&[usize], usize); 7] =
    [(&[7], 0), (&[1], 0), (&[3, 1], 1), (&[5, 9], 1), (&[9, 5], 0), (&[2, 33, 3], 1), (&[2, 1, 300], 2)];

/// Tests that NaNs of `bf16` are ordered by all their bits, and that small programs do not change these bits.
#[test]
fn nans_of_bf16_have_their_order() {
    let bits: Vec<u16> = vec![0x7fff, 0x7f81, 0xffc1, 0x7fc1, 0xff81, 0x7f80, 0xff80, 0x0000, 0x8000];
    let source = "func.func @main(%b: tensor<9xui16>) -> (tensor<9xi32>, tensor<9xi32>) {
  %x = stablehlo.bitcast_convert %b : (tensor<9xui16>) -> tensor<9xbf16>
  %i = stablehlo.iota dim = 0 : tensor<9xi32>
  %s:2 = \"stablehlo.sort\"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<bf16>, %q: tensor<bf16>, %r: tensor<i32>, %t: tensor<i32>):
    %c = stablehlo.compare LT, %p, %q, TOTALORDER : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<9xbf16>, tensor<9xi32>) -> (tensor<9xbf16>, tensor<9xi32>)
  %k:2 = chlo.top_k(%x, k = 9) : tensor<9xbf16> -> (tensor<9xbf16>, tensor<9xi32>)
  return %s#1, %k#1 : tensor<9xi32>, tensor<9xi32>
}";
    run_by_kernels(source, &[Literal::new([9], &bits)]);
    let moved = "func.func @main(%x: tensor<4xbf16>) -> tensor<2xui16> {
  %0 = stablehlo.slice %x [0:2] : (tensor<4xbf16>) -> tensor<2xbf16>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<2xbf16>
  %2 = stablehlo.bitcast_convert %1 : (tensor<2xbf16>) -> tensor<2xui16>
  return %2 : tensor<2xui16>
}";
    run_by_kernels(moved, &[Literal::new([4], &[0x7f81, 0xff81, 0, 0].map(bf16::from_bits))]);
}

#[test]
fn elements_of_any_type_in_any_order() {
    for (elem, kind) in [
        ("f32", "FLOAT"),
        ("f32", "TOTALORDER"),
        ("f64", "FLOAT"),
        ("f64", "TOTALORDER"),
        ("bf16", "FLOAT"),
        ("bf16", "TOTALORDER"),
        ("f16", "FLOAT"),
        ("i8", "SIGNED"),
        ("i32", "SIGNED"),
        ("i64", "SIGNED"),
        ("ui8", "UNSIGNED"),
        ("ui32", "UNSIGNED"),
        ("ui64", "UNSIGNED"),
        ("i1", "UNSIGNED"),
    ] {
        for direction in ["LT", "GT"] {
            for (shape, dim) in SHAPES {
                let text = program(shape, dim, elem, &compare("c", direction, kind, ["%a", "%b"], elem));
                run_by_kernels(&text, &[values(shape, &mut Random(shape.len() as u64 + 11))]);
            }
        }
    }
}

/// Tests the comparison of floats in JAX, alone and with a second key: zeros are equal, and NaNs are equal and last.
#[test]
fn keys_are_computed() {
    let key = |x: &str| {
        format!(
            "    %z{x} = stablehlo.constant dense<0.0> : tensor<f32>
    %q{x} = stablehlo.constant dense<0x7FC00000> : tensor<f32>
{}    %s{x} = stablehlo.select %e{x}, %z{x}, %{x} : tensor<i1>, tensor<f32>
{}    %k{x} = stablehlo.select %n{x}, %q{x}, %s{x} : tensor<i1>, tensor<f32>\n",
            compare(&format!("e{x}"), "EQ", "FLOAT", [&format!("%{x}"), &format!("%z{x}")], "f32"),
            compare(&format!("n{x}"), "NE", "FLOAT", [&format!("%{x}"), &format!("%{x}")], "f32")
        )
    };
    for (shape, dim) in SHAPES {
        let by_key = [key("a"), key("b"), compare("c", "LT", "TOTALORDER", ["%ka", "%kb"], "f32")].concat();
        let names = run_by_kernels(&program(shape, dim, "f32", &by_key), &[values(shape, &mut Random(5))]);
        assert!(names.contains(&"stablehlo.sort".to_string()), "{names:?}");
        let by_two = [
            key("a"),
            key("b"),
            compare("l", "LT", "TOTALORDER", ["%ka", "%kb"], "f32"),
            compare("t", "EQ", "TOTALORDER", ["%ka", "%kb"], "f32"),
            compare("m", "GT", "SIGNED", ["%i", "%j"], "i32"),
            "    %u = stablehlo.and %t, %m : tensor<i1>\n    %c = stablehlo.or %l, %u : tensor<i1>".to_string(),
        ]
        .concat();
        run_by_kernels(&program(shape, dim, "f32", &by_two), &[values(shape, &mut Random(6))]);
    }
}

/// Tests comparators that use constants from around the `sort`, which is what merging equal constants leaves.
#[test]
fn keys_are_computed_with_constants_from_outside() {
    let key = |x: &str| {
        let equal = compare(&format!("e{x}"), "EQ", "FLOAT", [&format!("%{x}"), "%zero"], "f32");
        format!("{equal}    %k{x} = stablehlo.select %e{x}, %zero, %{x} : tensor<i1>, tensor<f32>\n")
    };
    for (shape, dim) in SHAPES {
        let by_key = [key("a"), key("b"), compare("c", "LT", "TOTALORDER", ["%ka", "%kb"], "f32")].concat();
        let text = program(shape, dim, "f32", &by_key);
        let zero = "{\n  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n";
        run_by_kernels(&text.replacen("{\n", zero, 1), &[values(shape, &mut Random(7))]);
    }
}

#[test]
fn other_comparators_are_evaluated() {
    for comparator in [
        compare("c", "LE", "FLOAT", ["%a", "%b"], "f32"),
        compare("c", "LT", "FLOAT", ["%b", "%a"], "f32"),
        format!(
            "    %d = stablehlo.subtract %a, %b : tensor<f32>\n    %z = stablehlo.constant dense<0.0> : tensor<f32>\n{}",
            compare("c", "LT", "FLOAT", ["%d", "%z"], "f32")
        ),
    ] {
        let times = run(&program(&[4, 6], 1, "f32", &comparator), &[values(&[4, 6], &mut Random(8))]);
        assert!(times.iter().any(|t| t.is_fallback && t.name == "stablehlo.sort"), "{comparator}");
    }
}

#[test]
fn the_first_of_each_line() {
    for elem in ["f32", "bf16", "f64", "i8", "ui32", "i64", "i1"] {
        for (shape, k) in [(&[5, 9][..], 3), (&[5, 9], 9), (&[1], 1), (&[2, 3, 70], 8)] {
            let (given, x) = (tensor(shape, "f32"), tensor(shape, elem));
            let mut out = shape.to_vec();
            *out.last_mut().expect("a dimension") = k;
            let (y, i) = (tensor(&out, elem), tensor(&out, "i32"));
            let source = format!(
                "func.func @main(%x: {given}) -> ({y}, {i}) {{
  %0 = stablehlo.convert %x : ({given}) -> {x}
  %1:2 = chlo.top_k(%0, k = {k}) : {x} -> ({y}, {i})
  return %1#0, %1#1 : {y}, {i}
}}"
            );
            run_by_kernels(&source, &[values(shape, &mut Random(4))]);
        }
    }
}

/// Tests `ApproxTopK` along both dimensions, with ties, NaN and zeros of both signs.
#[test]
fn approximate_selections_are_exact() {
    for (dim, k, shape, out) in [(0, 3, [5, 4], [3, 4]), (1, 2, [5, 4], [5, 2]), (1, 4, [3, 4], [3, 4])] {
        for (name, elem) in [("gt", "f32"), ("lt", "f32"), ("gt", "bf16"), ("lt", "i32")] {
            let [x, y] = [shape, out].map(|s: [usize; 2]| [tensor(&s, elem), tensor(&s, "i32")]);
            let text = format!(
                "func.func @main(%x: {given}, %i: {indices}) -> ({values}, {places}) {{
  %0 = stablehlo.convert %x : ({given}) -> {converted}
  %a = stablehlo.constant dense<0> : tensor<{elem}>
  %b = stablehlo.constant dense<-1> : tensor<i32>
  %1:2 = stablehlo.custom_call @ApproxTopK(%0, %i, %a, %b) {{called_computations = [@top_k_{name}_{elem}_comparator], mhlo.backend_config = {{reduction_dim = {dim} : i64, top_k = {k} : i64}}}} : ({converted}, {indices}, tensor<{elem}>, tensor<i32>) -> ({values}, {places})
  return %1#0, %1#1 : {values}, {places}
}}",
                given = tensor(&shape, "f32"),
                indices = x[1],
                converted = x[0],
                values = y[0],
                places = y[1],
            );
            let text = if elem == "f32" || elem == "bf16" { text.replace("dense<0>", "dense<0.0>") } else { text };
            let numbers = [1.0, -2.0, 3.0, f32::NAN, 3.0, 0.0, -0.0, 7.0, f32::INFINITY, -5.0, 2.0];
            let values = Literal::from_fn(shape, |i| numbers[i % numbers.len()]);
            run_by_kernels(&text, &[values, Literal::from_fn(shape, |i| i as i32)]);
        }
    }
}
