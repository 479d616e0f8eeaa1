// A mesh that is written out where it is used, and declared nowhere: indices out of bounds.
func.func @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=2]>, [{"x"}, {"y"}]>}) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
