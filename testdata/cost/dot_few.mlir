// calls: 500
module {
 func.func public @main(%x: tensor<4x256xf32>, %y: tensor<256x64xf32>) -> tensor<4x64xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x256xf32>, tensor<256x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
 }
}
