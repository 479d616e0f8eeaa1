// calls: 40
module {
 func.func public @main(%x: tensor<8x64x8x64xf32>) -> tensor<8x8x64x64xf32> {
  %0 = stablehlo.transpose %x, dims = [0, 2, 1, 3] : (tensor<8x64x8x64xf32>) -> tensor<8x8x64x64xf32>
  return %0 : tensor<8x8x64x64xf32>
 }
}
