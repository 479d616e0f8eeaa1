// calls: 200
module {
 func.func public @main(%x: tensor<64x64xf32>, %y: tensor<8x64xf32>, %i: tensor<i32>) -> tensor<64x64xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %y, %i, %c : (tensor<64x64xf32>, tensor<8x64xf32>, tensor<i32>, tensor<i32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
 }
}
