// Unreduced axes in another order than the mesh has them.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"y", "x"}>}) {
  %0 = stablehlo.tanh %arg0 : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
