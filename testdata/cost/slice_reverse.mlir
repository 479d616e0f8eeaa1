// calls: 200
module {
 func.func public @main(%x: tensor<64x64xf32>) -> tensor<32x32xf32> {
  %0 = stablehlo.slice %x [0:64:2, 16:48] : (tensor<64x64xf32>) -> tensor<32x32xf32>
  %1 = stablehlo.reverse %0, dims = [1] : tensor<32x32xf32>
  return %1 : tensor<32x32xf32>
 }
}
