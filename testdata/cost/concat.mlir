// calls: 200
module {
 func.func public @main(%x: tensor<64x48xf32>, %y: tensor<64x16xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<64x48xf32>, tensor<64x16xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
 }
}
