// A quotient that stays unreduced over an axis by which its other operand is split.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<4x8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"y"}]>}, %arg1: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<4x8xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"y"}>]>} : (tensor<4x8x4xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = stablehlo.divide %1, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {?}], unreduced={"y"}>]>} : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
