// run: sdy-basic-propagate{conservative-propagation=true}
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<8x6xf32>) -> (tensor<8x4xf32>, tensor<8x6xf32>) {
  %0 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x8xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.slice %a [0:8, 0:6] : (tensor<8x8xf32>) -> tensor<8x6xf32>
  %2 = stablehlo.add %b, %1 : tensor<8x6xf32>
  return %0, %2 : tensor<8x4xf32>, tensor<8x6xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}, tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}) {
    %0 = stablehlo.slice %arg0 [0:8, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<8x8xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.slice %arg0 [0:8, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<8x8xf32>) -> tensor<8x6xf32>
    %2 = stablehlo.add %arg1, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<8x6xf32>
    return %0, %2 : tensor<8x4xf32>, tensor<8x6xf32>
  }
}
