// not run: no engine knows the custom call
// A call with a written rule is not split unevenly: the rule has the sizes of the whole dimensions.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<6x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<6x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
  %0 = stablehlo.custom_call @decomposed(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m]) {i=6, j=8, k=8, l=8, m=8}, custom>} : (tensor<6x8x8xf32>) -> tensor<6x8x8xf32>
  return %0 : tensor<6x8x8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<6x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<6x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
    %0 = stablehlo.custom_call @decomposed(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m]) {i=6, j=8, k=8, l=8, m=8}, custom>} : (tensor<6x8x8xf32>) -> tensor<6x8x8xf32>
    return %0 : tensor<6x8x8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<6x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<6x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{}, {}, {}]> : tensor<6x8x8xf32>
    %1 = stablehlo.custom_call @decomposed(%0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m]) {i=6, j=8, k=8, l=8, m=8}, custom>} : (tensor<6x8x8xf32>) -> tensor<6x8x8xf32>
    %2 = sdy.reshard %1 <@mesh, [{"x"}, {}, {}]> : tensor<6x8x8xf32>
    return %2 : tensor<6x8x8xf32>
  }
}
