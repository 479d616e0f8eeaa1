//! Quantized types, and ops on them: the specification's constraints by label, and known answers.

use crate::harness::run;
use shardwise_base::{DType, Literal};
use shardwise_ir::Module;
use shardwise_ir::text::parse;
use shardwise_ops::OPS;

/// Builds a module with a function of these arguments that returns `%r`, of this type. Returns the text of all errors
/// if it is wrong.
fn module(args: &str, body: &str, result: &str) -> Result<Module, String> {
    let text = format!("func.func @main({args}) -> {result} {{\n{body}\nreturn %r : {result}\n}}\n");
    let module = parse("t.mlir", &text, &OPS).map_err(|e| e.to_string())?;
    let found = shardwise_ir::verify(&module);
    if found.is_empty() { Ok(module) } else { Err(found.to_string()) }
}

/// Returns the codes of all mistakes of the module of [`module`], of which there must be at least one. Quantized types
/// are written `Q<..>`.
fn codes(args: &str, body: &str, result: &str) -> Vec<String> {
    let full = |text: &str| text.replace("Q<", "!quant.uniform<");
    let Err(found) = module(&full(args), &full(body), &full(result)) else { panic!("no mistake: {body}") };
    found.split("error[").skip(1).map(|d| d.split(']').next().unwrap().to_string()).collect()
}

fn answer(args: &[Literal], types: &str, body: &str, result: &str) -> Literal {
    let full = |text: &str| text.replace("Q<", "!quant.uniform<");
    let m = module(&full(types), &full(body), &full(result)).unwrap_or_else(|e| panic!("{e}"));
    run(&m, args).remove(0)
}

#[test]
fn types_keep_their_constraints() {
    let code = |ty: &str| codes(&format!("%a: tensor<2x{ty}>"), "", "tensor<f32>").remove(0);
    assert_eq!(code("Q<f32:f32, 1.0>"), "quantized_type_c1");
    assert_eq!(code("Q<i64:f32, 1.0>"), "quantized_type_c1");
    assert_eq!(code("Q<i8<0:200>:f32, 1.0>"), "quantized_type_c3");
    assert_eq!(code("Q<i8:i32, 1.0>"), "quantized_type_c4");
    assert_eq!(code("Q<i8:f32, -1.0>"), "quantized_type_c5");
    assert_eq!(code("Q<u8:f32, 1.0:-1>"), "quantized_type_c7");
    assert_eq!(code("Q<i8:f32:-1, {1.0}>"), "quantized_type_c11");
    assert_eq!(code("Q<i8:f32:1, {1.0}>"), "quantized_type_c12");
    assert_eq!(code("Q<i8:f32:0, {1.0}>"), "quantized_type_c13");
    assert_eq!(code("Q<i8:f32:{0:1}, {{1.0}}>"), "text-unsupported");
}

#[test]
fn ops_keep_their_constraints() {
    let q = "tensor<2xQ<i8:f32, 0.5>>";
    let two = |op: &str, a: &str, b: &str, r: &str| {
        codes(&format!("%a: {a}, %b: {b}"), &format!("%r = \"stablehlo.{op}\"(%a, %b) : ({a}, {b}) -> {r}"), r)
    };
    assert_eq!(two("add", q, q, "tensor<2xf32>"), ["add_c2"]);
    assert_eq!(two("add", q, "tensor<2xQ<i16:f32, 0.5>>", q), ["add_c3"]);
    assert_eq!(two("add", q, "tensor<2xQ<i8:bf16, 0.5>>", q), ["add_c4"]);
    assert_eq!(two("add", q, "tensor<2xQ<i8:f32:0, {0.5, 0.5}>>", q), ["add_c5", "add_c7"]);
    assert_eq!(two("multiply", q, "tensor<2xQ<i8<-8:7>:f32, 0.5>>", q), ["multiply_c1"]);
    assert_eq!(two("multiply", q, "tensor<2xf32>", q), ["multiply_c1"]);
    assert_eq!(two("multiply", q, q, "tensor<3xQ<i8:f32, 0.5>>"), ["multiply_c1"]);
    assert_eq!(two("xor", q, q, q), ["op-quantized"]);
    let one = |op: &str, attrs: &str, a: &str, r: &str| {
        codes(&format!("%a: {a}"), &format!("%r = \"stablehlo.{op}\"(%a) {attrs} : ({a}) -> {r}"), r)
    };
    let by_axis = "tensor<2x3xQ<i8:f32:0, {0.5, 0.25}>>";
    assert_eq!(one("tanh", "", by_axis, by_axis), ["tanh_i1"]);
    assert_eq!(one("reverse", "{dimensions = array<i64: 0>}", by_axis, by_axis), ["reverse_i1"]);
    assert_eq!(one("reshape", "", q, "tensor<2x1xQ<i8:f32, 0.25>>"), ["reshape_c1"]);
    assert_eq!(one("reshape", "", by_axis, "tensor<6x2xQ<i8:f32:1, {0.5, 0.25}>>"), ["reshape_c3"]);
    let turned = "tensor<3x2xQ<i8:f32:1, {0.5, 0.125}>>";
    assert_eq!(one("transpose", "{permutation = array<i64: 1, 0>}", by_axis, turned), ["transpose_c1"]);
    let broadcast = "{broadcast_dimensions = array<i64: 1, 2>}";
    let to = "tensor<4x2x3xQ<i8:f32:0, {0.5, 0.25, 0.5, 0.25}>>";
    assert_eq!(one("broadcast_in_dim", broadcast, by_axis, to), ["broadcast_in_dim_c6"]);
    assert_eq!(one("uniform_quantize", "", "tensor<2xf64>", q), ["uniform_quantize_c2"]);
    assert_eq!(one("uniform_quantize", "", "tensor<2xi8>", q), ["uniform_quantize_i1", "uniform_quantize_c2"]);
    assert_eq!(one("uniform_dequantize", "", "tensor<2xi8>", "tensor<2xf32>"), ["uniform_dequantize_i1"]);
    assert_eq!(one("uniform_dequantize", "", q, "tensor<2xbf16>"), ["uniform_dequantize_c2"]);
}

#[test]
fn products_keep_their_constraints() {
    let dot = |x: &str, y: &str, r: &str| {
        let (x, y, r) = (format!("tensor<2x3x{x}>"), format!("tensor<3x4x{y}>"), format!("tensor<2x4x{r}>"));
        let body = format!("%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({x}, {y}) -> {r}");
        codes(&format!("%a: {x}, %b: {y}"), &body, &r)
    };
    let (q, wide) = ("Q<i8:f32, 0.5>", "Q<i32:f32, 0.25>");
    assert_eq!(dot(q, "f32", wide), ["dot_general_c14"]);
    assert_eq!(dot(q, q, "f32"), ["dot_general_c14"]);
    assert_eq!(dot(q, "Q<i8:f32, 0.5:3>", wide), ["dot_general_c15"]);
    assert_eq!(dot(q, "Q<i8:f32:0, {0.5, 0.5, 0.5}>", wide), ["dot_general_c16"]);
    assert_eq!(dot(q, "Q<i4:f32, 0.5>", wide), ["dot_general_c17"]);
    assert_eq!(dot(q, "Q<i8:bf16, 0.5>", wide), ["dot_general_c18"]);
    assert_eq!(dot(q, q, "Q<i32:f32:1, {0.5, 0.5, 0.5, 0.5}>"), ["dot_general_c19"]);
    assert_eq!(dot("bf16", q, "bf16"), ["dot_general_c20"]);
    assert_eq!(dot("Q<i8:f32:0, {0.5, 0.5}>", q, wide), ["dot_general_i1"]);
}

#[test]
fn convolutions_keep_their_constraints() {
    let conv = |name: &str, x: &str, y: &str, r: &str| {
        let (x, y, r) = (format!("tensor<1x4x3x{x}>"), format!("tensor<2x3x4x{y}>"), format!("tensor<1x3x4x{r}>"));
        let dims = "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>";
        let (padding, ty) = if name == "dynamic_conv" { (", %c", ", tensor<1x2xi32>") } else { ("", "") };
        let constant = "%c = stablehlo.constant dense<0> : tensor<1x2xi32>";
        let counts = "batch_group_count = 1 : i64, feature_group_count = 1 : i64";
        let op = format!("%r = \"stablehlo.{name}\"(%a, %b{padding}) <{{{counts}, {dims}}}> : ({x}, {y}{ty}) -> {r}");
        codes(&format!("%a: {x}, %b: {y}"), &format!("{constant}\n{op}"), &r)
    };
    let (q, wide) = ("Q<i8:f32, 0.5>", "Q<i32:f32, 0.25>");
    for name in ["convolution", "dynamic_conv"] {
        assert_eq!(conv(name, q, "f32", wide), ["convolution_c28"]);
        assert_eq!(conv(name, q, "Q<i8:f32:1, {0.5, 0.5, 0.5}>", wide), ["convolution_c29"]);
        let (by_output, by_place) = ("Q<i8:f32:2, {0.5, 0.5, 0.5, 0.5}>", "Q<i32:f32:1, {0.5, 0.5, 0.5}>");
        assert_eq!(conv(name, q, by_output, by_place), ["convolution_c30"]);
        assert_eq!(conv(name, q, "Q<i4:f32, 0.5>", wide), ["convolution_c31"]);
        assert_eq!(conv(name, q, "Q<i8:bf16, 0.5>", wide), ["convolution_c32"]);
        assert_eq!(conv(name, q, q, "Q<i32:f32:2, {0.5, 0.5, 0.5, 0.5}>"), ["convolution_c33"]);
        assert_eq!(conv(name, "bf16", q, "bf16"), ["convolution_c34"]);
        assert_eq!(conv(name, "Q<i8:f32:2, {0.5, 0.5, 0.5}>", q, wide), ["convolution_i1"]);
    }
}

#[test]
fn moves_keep_the_quantized_dimension() {
    let moved = |name: &str, attrs: &str, x: &str, r: &str| {
        let size = format!("tensor<{}xi32>", r.split('Q').next().unwrap().matches('x').count());
        let constant = format!("%c = stablehlo.constant dense<2> : {size}");
        let (sizes, ty) =
            if name.starts_with("dynamic_") { (", %c", format!(", {size}")) } else { ("", String::new()) };
        let op = format!("%r = \"stablehlo.{name}\"(%a{sizes}) {attrs} : ({x}{ty}) -> {r}");
        codes(&format!("%a: {x}"), &format!("{constant}\n{op}"), r)
    };
    let by_axis = "tensor<2x3xQ<i8:f32:0, {0.5, 0.25}>>";
    let transposed = "{permutation = array<i64: 1, 0>}";
    assert_eq!(moved("transpose", transposed, by_axis, "tensor<3x2xQ<i8:f32:1, {0.5, 0.125}>>"), ["transpose_c1"]);
    let square = "tensor<2x2xQ<i8:f32:0, {0.5, 0.25}>>";
    assert_eq!(moved("transpose", transposed, square, square), ["transpose_c4"]);
    for op in ["reshape", "dynamic_reshape"] {
        let code = |n: usize| vec![format!("{op}_c{n}")];
        assert_eq!(moved(op, "", by_axis, "tensor<2x3xQ<i8:f32:0, {0.5, 0.5}>>"), code(1));
        assert_eq!(moved(op, "", by_axis, "tensor<2x3xQ<i8:f32, 0.5>>"), code(1));
        assert_eq!(moved(op, "", by_axis, "tensor<3x2xQ<i8:f32:1, {0.5, 0.25}>>"), code(3));
    }
    for op in ["broadcast_in_dim", "dynamic_broadcast_in_dim"] {
        let code = |n: usize| vec![format!("{op}_c{n}")];
        let dims = "{broadcast_dimensions = array<i64: 1, 2>}";
        let one = "tensor<1x3xQ<i8:f32:0, {0.5}>>";
        assert_eq!(moved(op, dims, one, "tensor<2x2x3xQ<i8:f32:1, {0.5, 0.25}>>"), code(6));
        assert_eq!(moved(op, dims, one, "tensor<2x2x3xQ<i8:f32:0, {0.5, 0.5}>>"), code(6));
        assert_eq!(moved(op, dims, one, "tensor<2x2x3xQ<i4:f32:1, {0.5, 0.5}>>"), code(1));
    }
}

#[test]
fn quantized_and_back() {
    let by_axis = "tensor<2xQ<i8:f32:0, {0.1:-30, 0.5:-20}>>";
    let body = format!("%r = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> {by_axis}");
    let q = answer(&[Literal::new([2], &[4.0f32, 15.0])], "%a: tensor<2xf32>", &body, by_axis);
    assert_eq!(q, Literal::new([2], &[10i8, 10]));
    let body = format!("%r = stablehlo.uniform_dequantize %a : ({by_axis}) -> tensor<2xf32>");
    let back = answer(std::slice::from_ref(&q), &format!("%a: {by_axis}"), &body, "tensor<2xf32>");
    assert_eq!(back, Literal::new([2], &[4.0f32, 15.0]));
    let other = "tensor<2xQ<i8:f32:0, {0.1:-20, 0.2:-30}>>";
    let body = format!("%r = stablehlo.uniform_quantize %a : ({by_axis}) -> {other}");
    assert_eq!(answer(&[q], &format!("%a: {by_axis}"), &body, other), Literal::new([2], &[20i8, 45]));
    // Ties to even, the ends of the range, NaN.
    let narrow = "tensor<6xQ<i8<-8:7>:f32, 2.0:1>>";
    let x = Literal::new([6], &[1.0f32, 3.0, 1e9, f32::NEG_INFINITY, -0.5, f32::NAN]);
    let body = format!("%r = stablehlo.uniform_quantize %a : (tensor<6xf32>) -> {narrow}");
    assert_eq!(answer(&[x], "%a: tensor<6xf32>", &body, narrow), Literal::new([6], &[2i8, 2, 7, -8, 1, 0]));
}

#[test]
fn ops_compute_on_the_floats() {
    let (a, b) = ("tensor<2xQ<i8:f32, 0.1:-30>>", "tensor<2xQ<i8:f32, 0.5:-20>>");
    let args = [Literal::new([2], &[-20i8, -10]), Literal::new([2], &[-14i8, -12])];
    let types = format!("%a: {a}, %b: {b}");
    let sum = answer(&args, &types, &format!("%r = stablehlo.add %a, %b : ({a}, {b}) -> {b}"), b);
    assert_eq!(sum, Literal::new([2], &[-12i8, -8]));
    let body = format!("%r = stablehlo.compare LT, %a, %b : ({a}, {b}) -> tensor<2xi1>");
    assert_eq!(answer(&args, &types, &body, "tensor<2xi1>").dtype(), DType::I1);
    // What only moves keeps the integers.
    let body = format!("%r = stablehlo.reverse %a, dims = [0] : {a}");
    assert_eq!(answer(&args, &types, &body, a), Literal::new([2], &[-10i8, -20]));
    // Sums are taken of floats, not of integers: 1 + 2 + 0.
    let body = format!(
        "%0 = \"stablehlo.constant\"() <{{value = dense<-30> : tensor<i8>}}> : () -> tensor<Q<i8:f32, 0.1:-30>>\n\
        %r = stablehlo.reduce(%a init: %0) applies stablehlo.add across dimensions = [0] : \
        ({a}, tensor<Q<i8:f32, 0.1:-30>>) -> tensor<Q<i8:f32, 0.1:-30>>"
    );
    assert_eq!(answer(&args, &types, &body, "tensor<Q<i8:f32, 0.1:-30>>"), Literal::scalar(0i8));
    // A product with quantized weights: [2, 3] * [[0.5, 1], [1.5, 2]].
    let w = "tensor<2x2xQ<i8:f32:1, {0.5, 1.0}>>";
    let x = [Literal::new([1, 2], &[2.0f32, 3.0]), Literal::new([2, 2], &[1i8, 1, 3, 2])];
    let types = format!("%a: tensor<1x2xf32>, %b: {w}");
    let body = format!(
        "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x2xf32>, {w}) -> tensor<1x2xf32>"
    );
    assert_eq!(answer(&x, &types, &body, "tensor<1x2xf32>"), Literal::new([1, 2], &[5.5f32, 8.0]));
}

#[test]
fn rng_draws_what_it_is_asked_for() {
    let rng = |ty: &str, a: &str, b: &str, kind: &str| {
        let body = format!(
            "%a = stablehlo.constant dense<{a}> : tensor<{ty}>\n%b = stablehlo.constant dense<{b}> : tensor<{ty}>\n\
             %s = stablehlo.constant dense<[4, 3]> : tensor<2xi64>\n\
             %0 = stablehlo.rng %a, %b, %s, distribution = {kind} : (tensor<{ty}>, tensor<{ty}>, tensor<2xi64>) -> tensor<4x3x{ty}>\n\
             %r = stablehlo.rng %a, %b, %s, distribution = {kind} : (tensor<{ty}>, tensor<{ty}>, tensor<2xi64>) -> tensor<4x3x{ty}>"
        );
        answer(&[], "", &body, &format!("tensor<4x3x{ty}>"))
    };
    let numbers = |x: &Literal| (0..x.size()).map(|i| x.get_f64(i)).collect::<Vec<_>>();
    let x = rng("f32", "-1.0", "2.0", "UNIFORM");
    assert!(numbers(&x).iter().all(|n| (-1.0..2.0).contains(n)));
    assert_eq!(x, rng("f32", "-1.0", "2.0", "UNIFORM"));
    assert!(numbers(&rng("i8", "-3", "2", "UNIFORM")).iter().all(|n| (-3.0..2.0).contains(n)));
    assert!(numbers(&rng("bf16", "0.0", "1.0", "NORMAL")).iter().all(|n| n.abs() < 10.0));
    assert_eq!(numbers(&rng("i1", "false", "true", "UNIFORM")), [0.0; 12]);
    let text = |body: &str| codes("%a: tensor<i32>, %s: tensor<2xi64>", body, "tensor<4x3xi32>");
    let ty = "(tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<4x3xi32>";
    assert_eq!(text(&format!("%r = stablehlo.rng %a, %a, %s, distribution = NORMAL : {ty}")), ["rng_c2"]);
    let constant = "%c = stablehlo.constant dense<[3, 4]> : tensor<2xi64>";
    assert_eq!(text(&format!("{constant}\n%r = stablehlo.rng %a, %a, %c, distribution = UNIFORM : {ty}")), ["rng_c3"]);
}
