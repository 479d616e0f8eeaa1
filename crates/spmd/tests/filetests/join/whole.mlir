// A dimension that is not sharded is joined as it is written.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [0:16, 1:4] : (tensor<16x4xf32>) -> tensor<16x3xf32>
  %1 = stablehlo.slice %a [0:16, 0:1] : (tensor<16x4xf32>) -> tensor<16x1xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<16x3xf32>, tensor<16x1xf32>) -> tensor<16x4xf32>
  return %2 : tensor<16x4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.slice %arg0 [0:16, 1:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<16x4xf32>) -> tensor<16x3xf32>
    %1 = stablehlo.slice %arg0 [0:16, 0:1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<16x4xf32>) -> tensor<16x1xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<16x3xf32>, tensor<16x1xf32>) -> tensor<16x4xf32>
    return %2 : tensor<16x4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.slice %arg0 [0:16, 1:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<16x4xf32>) -> tensor<16x3xf32>
    %1 = stablehlo.slice %arg0 [0:16, 0:1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<16x4xf32>) -> tensor<16x1xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<16x3xf32>, tensor<16x1xf32>) -> tensor<16x4xf32>
    return %2 : tensor<16x4xf32>
  }
}
