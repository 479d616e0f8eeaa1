//! Constraints of the specification by their labels: result types, and what attributes say.

use shardwise_ir::text::parse;
use shardwise_ops::OPS;

/// The codes of all mistakes of a program whose `@main` takes `%a: tensor<2x3xf32>`, and holds this line.
fn codes(line: &str) -> Vec<String> {
    let text = format!("func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {{\n{line}\nreturn\n}}\n");
    let found = match parse("t.mlir", &text, &OPS) {
        Ok(module) => shardwise_ir::verify(&module),
        Err(found) => found,
    };
    found.iter().map(|d| d.code.to_string()).collect()
}

#[test]
fn results_of_other_types() {
    let of = |op: &str, ty: &str| codes(&format!("%0 = \"stablehlo.{op} : (tensor<2x3xf32>) -> tensor<{ty}>"));
    assert_eq!(of("tanh\"(%a)", "3x2xf32"), ["tanh_c1"]);
    assert_eq!(of("abs\"(%a)", "3x2xf32"), ["abs_c1"]);
    assert_eq!(of("abs\"(%a)", "2x3xbf16"), ["abs_c2"]);
    assert_eq!(of("transpose\"(%a) {permutation = array<i64: 1, 0>}", "2x3xf32"), ["transpose_c3"]);
    assert_eq!(of("reverse\"(%a) {dimensions = array<i64: 1>}", "2x3xf64"), ["reverse_c1"]);
    assert_eq!(of("concatenate\"(%a) {dimension = 0 : i64}", "4x3xf32"), ["concatenate_c6"]);
    assert_eq!(
        codes("%0 = \"stablehlo.constant\"() {value = dense<1> : tensor<2xi32>} : () -> tensor<3xi32>"),
        ["constant_c1"]
    );
}

#[test]
fn attributes_of_products_and_windows() {
    let dot = |more: &str| {
        codes(&format!(
            "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]{more} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>"
        ))
    };
    let algorithm = |lhs: i64, rhs: i64, ops: i64| {
        format!(
            ", algorithm = <lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, \
             lhs_component_count = {lhs}, rhs_component_count = {rhs}, num_primitive_operations = {ops}, \
             allow_imprecise_accumulation = false>"
        )
    };
    assert_eq!(dot(&algorithm(1, 1, 1)), [""; 0]);
    assert_eq!(dot(&algorithm(0, -1, 0)), ["dot_general_c22", "dot_general_c23", "dot_general_c24"]);
    assert_eq!(dot(&format!(", precision = [HIGH, DEFAULT]{}", algorithm(1, 1, 1))), ["dot_general_c21"]);
    let window = |sizes: &str, strides: &str| {
        codes(&format!(
            "%z = stablehlo.constant dense<0.0> : tensor<f32>\n\
             %0 = \"stablehlo.reduce_window\"(%a, %z) <{{window_dimensions = array<i64: {sizes}>, window_strides = array<i64: {strides}>}}> ({{\n\
             ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n\
             %s = stablehlo.add %x, %y : tensor<f32>\n\
             stablehlo.return %s : tensor<f32>\n\
             }}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>"
        ))
    };
    assert_eq!(window("1", "1, 1"), ["reduce_window_c4"]);
    assert_eq!(window("1, 0", "1, 1"), ["reduce_window_c5"]);
    assert_eq!(window("1, 1", "1"), ["reduce_window_c6"]);
    assert_eq!(window("1, 1", "1, -1"), ["reduce_window_c7"]);
}

#[test]
fn sizes_that_are_operands() {
    let reshape = "%s = stablehlo.constant dense<[2, 2]> : tensor<2xi32>\n\
        %0 = stablehlo.dynamic_reshape %a, %s : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>";
    assert_eq!(codes(reshape), ["dynamic_reshape_c2"]);
    let broadcast = "%s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>\n\
        %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 0] : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>";
    assert_eq!(codes(broadcast)[0], "dynamic_broadcast_in_dim_c4");
    assert_eq!(
        codes("\"stablehlo.if\"(%a) ({\nstablehlo.return\n}, {\nstablehlo.return\n}) : (tensor<2x3xf32>) -> ()"),
        ["if_i1"]
    );
}

#[test]
fn groups_name_processes_that_there_are() {
    let gather = |groups: &str| {
        codes(&format!(
            "%0 = \"stablehlo.all_gather\"(%a) <{{all_gather_dim = 0 : i64, replica_groups = dense<{groups}> : tensor<1x2xi64>}}> : (tensor<2x3xf32>) -> tensor<4x3xf32>"
        ))
    };
    assert_eq!(gather("[[1, 0]]"), [""; 0]);
    assert_eq!(gather("[[0, 2]]"), ["all_gather_c4"]);
}
