// not run: no engine knows the custom call
// Calls of unknown targets whose rules have no factor in all operands and results, and a call with a side effect.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %n: tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.custom_call @scaled(%a, %n) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=8, j=8}, custom>} : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @sum(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, j]) {i=8, j=8, k=8} reduction={i, j}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.custom_call @log(%a) {has_side_effect = true, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<f32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}, tensor<8x8xf32>, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}) {
    %0 = stablehlo.custom_call @scaled(%arg0, %arg1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=8, j=8}, custom>} : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    %1 = stablehlo.custom_call @sum(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, j]) {i=8, j=8, k=8} reduction={i, j}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.custom_call @log(%arg0) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0, %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<8x8xf32>
    %1 = stablehlo.custom_call @scaled(%0, %arg1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=8, j=8}, custom>} : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    %2 = sdy.reshard %1 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    %3 = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<8x8xf32>
    %4 = stablehlo.custom_call @sum(%3) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, j]) {i=8, j=8, k=8} reduction={i, j}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %5 = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<8x8xf32>
    %6 = stablehlo.custom_call @log(%5) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %7 = sdy.reshard %6 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    return %2, %4, %7 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
