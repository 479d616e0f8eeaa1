// calls: 20
module {
 func.func public @main(%x: tensor<64x64xi32>, %y: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi32>
  return %0 : tensor<64x64xi32>
 }
}
