// Everything that attributes can be; what is not understood stays as it stands.
#map = affine_map<(d0, d1) -> (d1, d0)>
module attributes {
  a.array = [1, 2 : i32, "s", @f, unit, []],
  a.bools = array<i1: true, false>,
  a.dense = dense<[1, 2]> : tensor<2xi64>,
  a.dict = {flag, "odd name" = 1 : i8, inner = {x = true}},
  a.enum = #stablehlo<precision HIGHEST>,
  a.floats = [1.0, 1.5 : f32, 0x7F800000 : f32, -2.5e-10 : f64],
  a.index = 3 : index,
  a.ints = [array<i64: 1, -2>, array<i32>, array<ui64: 18446744073709551615>, array<i8: 255>],
  a.loc = loc(callsite("a"("f.py":1:2) at "g.py":3:4)),
  a.map = #map,
  a.negative = -1,
  a.nested = #foo.bar<x = [1, {2}], "y>" -> z>,
  a.resource = dense_resource<blob> : tensor<4xf32>,
  a.string = "tab\09 quote\22 backslash\\ umlaut\C3\BC",
  a.binary = "\FF\00",
  a.symbol = @"a b"::@c,
  a.type = tensor<2x3xf32>,
  a.function_type = (tensor<2xf32>, i32) -> (),
  a.unsigned = 18446744073709551615 : ui64,
  a.rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>,
  a.layout = [dense<[1, 0]> : tensor<2xindex>],
  a.other = [1 : i128, -1 : si32, 1.0 : tf32, "x" : i32, tuple<i32>, tensor<?x4xf32>, dense<1> : tensor<2xi128>],
  a.nans = [0x7F800001 : f32, 0x7C01 : f16, 0xFD : f8E5M2, 0x7FC00000 : f32],
  a.set = affine_set<(d0) : (d0 >= 0, d0 - 4 <= 0)>,
  a.distinct = distinct[0]<unit>
} {
  func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @"my target"(%arg0) {api_version = 4 : i32, backend_config = {x = 1 : i64}, has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// ---- expected
module attributes {a.array = [1 : i64, 2 : i32, "s", @f, unit, []], a.binary = "\FF\00", a.bools = array<i1: true, false>, a.dense = dense<[1, 2]> : tensor<2xi64>, a.dict = {flag, inner = {x = true}, "odd name" = 1 : i8}, a.distinct = distinct[0]<unit>, a.enum = #stablehlo<precision HIGHEST>, a.floats = [1.000000e+00 : f64, 1.500000e+00 : f32, 0x7F800000 : f32, -2.500000e-10 : f64], a.function_type = (tensor<2xf32>, i32) -> (), a.index = 3 : index, a.ints = [array<i64: 1, -2>, array<i32>, array<ui64: 18446744073709551615>, array<i8: -1>], a.layout = [dense<[1, 0]> : tensor<2xindex>], a.loc = loc(callsite("a"("f.py":1:2) at "g.py":3:4)), a.map = affine_map<(d0, d1) -> (d1, d0)>, a.nans = [0x7F800001 : f32, 0x7C01 : f16, 0xFD : f8E5M2, 0x7FC00000 : f32], a.negative = -1 : i64, a.nested = #foo.bar<x = [1, {2}], "y>" -> z>, a.other = [1 : i128, -1 : si32, 1.0 : tf32, "x" : i32, tuple<i32>, tensor<?x4xf32>, dense<1> : tensor<2xi128>], a.resource = dense_resource<blob> : tensor<4xf32>, a.rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>, a.set = affine_set<(d0) : (d0 >= 0, d0 - 4 <= 0)>, a.string = "tab\09 quote\22 backslash\\ umlaut\C3\BC", a.symbol = @"a b"::@c, a.type = tensor<2x3xf32>, a.unsigned = 18446744073709551615 : ui64} {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @"my target"(%arg0) {api_version = 4 : i32, backend_config = {x = 1 : i64}, has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
