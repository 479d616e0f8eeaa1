// not run: no engine knows the custom call
// A call of an unknown target is split along the batch dimension of its rule, and along no other dimension.
sdy.mesh @mesh = <["x"=8, "y"=2]>
func.func @main(%a: tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}) -> (tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i]) {i=16, j=8, k=8, l=8, m=8}, custom>} : (tensor<16x8x8xf32>) -> (tensor<16x8x8xf32>, tensor<16xi32>)
  return %0#0, %0#1 : tensor<16x8x8xf32>, tensor<16xi32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=8, "y"=2]>
  func.func public @main(%arg0: tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}) -> (tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%arg0) {mhlo.backend_config = {uplo = 76 : ui8}, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}, {?}]>, <@mesh, [{"x", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i]) {i=16, j=8, k=8, l=8, m=8}, custom>} : (tensor<16x8x8xf32>) -> (tensor<16x8x8xf32>, tensor<16xi32>)
    return %0#0, %0#1 : tensor<16x8x8xf32>, tensor<16xi32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=8, "y"=2]>
  func.func public @main(%arg0: tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}) -> (tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{"x"}, {}, {}]> : tensor<16x8x8xf32>
    %1:2 = stablehlo.custom_call @lapack_spotrf_ffi(%0) {mhlo.backend_config = {uplo = 76 : ui8}, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {}]>, <@mesh, [{"x"}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i]) {i=16, j=8, k=8, l=8, m=8}, custom>} : (tensor<16x8x8xf32>) -> (tensor<16x8x8xf32>, tensor<16xi32>)
    return %1#0, %1#1 : tensor<16x8x8xf32>, tensor<16xi32>
  }
}
