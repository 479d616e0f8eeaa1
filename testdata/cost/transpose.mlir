// calls: 40
module {
 func.func public @main(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
 }
}
