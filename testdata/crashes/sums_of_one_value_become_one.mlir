// runs
// Two sums over "y" of one value become one past the `add`, and then the sum over "x" before it can be taken with it.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<4x8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x":(1)2, "y", ?}]>}, %arg1: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<4x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"y"}>]>} : (tensor<4x8x4xf32>, tensor<f32>) -> tensor<4x8xf32>
  %s = stablehlo.add %1, %1 : tensor<4x8xf32>
  %2 = stablehlo.divide   %s, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {?}], unreduced={"y"}>]>} : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
