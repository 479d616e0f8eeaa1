// calls: 100
module {
 func.func public @main(%x: tensor<64x8x8xf32>, %y: tensor<64x8x8xf32>) -> tensor<64x8x8xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<64x8x8xf32>, tensor<64x8x8xf32>) -> tensor<64x8x8xf32>
  return %0 : tensor<64x8x8xf32>
 }
}
