//! Generated windows. Results must have the reference's bits, including rounding and order.

use crate::block::tests::Random;
use crate::kernels::testing::{run, run_by_kernels, tensor};
use shardwise_base::Literal;

fn values(shape: &[usize], random: &mut Random) -> Literal {
    let draw = |_: usize| if random.next().is_multiple_of(40) { f32::NAN } else { random.dyadic() / 3.0 };
    Literal::new(shape, &(0..shape.iter().product()).map(draw).collect::<Vec<_>>())
}

/// Returns a program with a `reduce_window` of `%0` and the initial value `%1`, both of type `elem`. If that is
/// complex, the imaginary parts of `%0` are the negated real parts. The text `window` has the attributes of the op, and
/// `body` computes `%c` from `%a` and `%b`.
fn program(shape: &[usize], out: &[usize], elem: &str, window: &str, init: &str, body: &str) -> String {
    let (given, x, z) = (tensor(shape, "f32"), tensor(shape, elem), tensor(out, elem));
    let converted = match elem {
        "complex<f32>" => format!("stablehlo.complex %x, %n : {x}"),
        _ => format!("stablehlo.convert %x : ({given}) -> {x}"),
    };
    let init = match elem {
        "complex<f32>" => format!("({init}, 0.0)"),
        "i1" => (init != "0.0").to_string(),
        _ if elem.contains('f') => init.to_string(),
        _ => init.split('.').next().expect("a number").trim_start_matches('-').to_string(),
    };
    format!(
        "func.func @main(%x: {given}) -> {z} {{
  %n = stablehlo.negate %x : {given}
  %0 = {converted}
  %1 = stablehlo.constant dense<{init}> : tensor<{elem}>
  %2 = \"stablehlo.reduce_window\"(%0, %1) <{{{window}}}> ({{
  ^bb0(%a: tensor<{elem}>, %b: tensor<{elem}>):
    {body}
    stablehlo.return %c : tensor<{elem}>
  }}) : ({x}, tensor<{elem}>) -> {z}
  return %2 : {z}
}}"
    )
}

fn attributes(window: &[[i64; 6]]) -> String {
    let list = |i: usize| window.iter().map(|w| w[i].to_string()).collect::<Vec<_>>().join(", ");
    let pads: Vec<[i64; 2]> = window.iter().map(|w| [w[4], w[5]]).collect();
    format!(
        "window_dimensions = array<i64: {}>, window_strides = array<i64: {}>, base_dilations = array<i64: {}>, \
         window_dilations = array<i64: {}>, padding = dense<{pads:?}> : tensor<{}x2xi64>",
        list(0),
        list(1),
        list(2),
        list(3),
        window.len()
    )
}

fn generated(seed: u64) -> Option<(String, Literal)> {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    (0..4).for_each(|_| _ = random.next());
    let mut below = |n: u64| (random.next() % n) as i64;
    let (mut shape, mut out, mut window) = (vec![], vec![], vec![]);
    for _ in 0..1 + below(3) {
        let n = 1 + below(7);
        let w = match below(3) {
            0 => [1, 1, 1, 1, 0, 0],
            _ => [1 + below(3), 1 + below(3), 1 + below(2), 1 + below(2), below(5) - 1, below(4) - 1],
        };
        let padded = (n - 1) * w[2] + 1 + w[4] + w[5];
        let room = padded - ((w[0] - 1) * w[3] + 1);
        if padded <= 0 || room < 0 {
            return None;
        }
        shape.push(n as usize);
        out.push((room / w[1] + 1) as usize);
        window.push(w);
    }
    let elem = ["f32", "bf16", "f64", "i8", "i32", "i64", "f16", "ui8"][below(8) as usize];
    let init = ["0.0", "1.5", "-3.0"][below(3) as usize];
    let body = match below(6) {
        0 => "%c = stablehlo.maximum %a, %b",
        1 => "%c = stablehlo.minimum %a, %b",
        2 => "%c = stablehlo.multiply %a, %b",
        3 => "%c = stablehlo.subtract %a, %b",
        _ => "%c = stablehlo.add %a, %b",
    };
    let text = program(&shape, &out, elem, &attributes(&window), init, &format!("{body} : tensor<{elem}>"));
    let mut random = Random(seed + 1);
    Some((text, values(&shape, &mut random)))
}

#[test]
fn any_window_and_any_region_run_on_a_kernel() {
    let mut cases = 0;
    for (text, x) in (0..400).filter_map(generated) {
        run_by_kernels(&text, &[x]);
        cases += 1;
    }
    assert!(cases > 150, "{cases}");
}

/// Tests windows as long as the dimension that end at each of its elements, and those that start there, for several
/// types and reducers. Some initial values change the result.
#[test]
fn results_so_far() {
    for (shape, dim) in [(vec![5, 300], 1), (vec![37, 40], 0), (vec![3, 9, 33], 1), (vec![1], 0), (vec![40, 1], 0)] {
        for (elem, op, init) in [
            ("f32", "add", "0.0"),
            ("bf16", "add", "0.0"),
            ("f16", "multiply", "1.0"),
            ("f64", "add", "0.0"),
            ("f32", "maximum", "0xFF800000"),
            ("f32", "add", "2.0"),
            ("f32", "add", "-0.0"),
            ("i8", "add", "0.0"),
            ("i1", "or", "0.0"),
            ("i64", "minimum", "7.0"),
            ("complex<f32>", "add", "0.0"),
            ("complex<f32>", "multiply", "1.0"),
        ] {
            for is_forward in [true, false] {
                let n = shape[dim] as i64;
                let pads = if is_forward { [n - 1, 0] } else { [0, n - 1] };
                let along = [n, 1, 1, 1, pads[0], pads[1]];
                let window: Vec<_> =
                    (0..shape.len()).map(|d| if d == dim { along } else { [1, 1, 1, 1, 0, 0] }).collect();
                let body = format!("%c = stablehlo.{op} %a, %b : tensor<{elem}>");
                let text = program(&shape, &shape, elem, &attributes(&window), init, &body);
                let given = values(&shape, &mut Random(3));
                // Which NaN a product of complex numbers has is not defined.
                let is_complex = elem.starts_with("complex");
                let plain = |i: usize| Some(given.get::<f32>(i)).filter(|x| !x.is_nan()).unwrap_or(0.5);
                let given = [if is_complex { Literal::from_fn(shape.clone(), plain) } else { given }];
                if is_forward && init != "2.0" && n > 1 {
                    run_by_kernels(&text, &given);
                } else {
                    run(&text, &given);
                }
            }
        }
    }
}

#[test]
fn several_arrays_together() {
    let source = r#"func.func @main(%x: tensor<5x8xf32>) -> (tensor<5x4xf32>, tensor<5x4xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<5x8xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = "stablehlo.reduce_window"(%x, %i, %low, %none) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %ai: tensor<i32>, %b: tensor<f32>, %bi: tensor<i32>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
    %3 = stablehlo.select %1, %ai, %bi : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
  }) : (tensor<5x8xf32>, tensor<5x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<5x4xf32>, tensor<5x4xi32>)
  return %0#0, %0#1 : tensor<5x4xf32>, tensor<5x4xi32>
}"#;
    run_by_kernels(source, &[values(&[5, 8], &mut Random(9))]);
}

#[test]
fn nothing_is_nothing() {
    let window = attributes(&[[2, 1, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0]]);
    for (shape, out) in [([5, 0], [4, 0]), ([1, 3], [0, 3])] {
        let text = program(&shape, &out, "f32", &window, "1.0", "%c = stablehlo.add %a, %b : tensor<f32>");
        run(&text, &[values(&shape, &mut Random(1))]);
    }
}
