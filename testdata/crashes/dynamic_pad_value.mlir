// refused
// A padding value of rank 1 breaks dynamic_pad_i2, which is only found when the op runs.
func.func @main(%x: tensor<2xf32>, %v: tensor<3xf32>) -> tensor<5xf32> {
  %c = stablehlo.constant dense<1> : tensor<1xi32>
  %0 = stablehlo.dynamic_pad %x, %v, %c, %c, %c : (tensor<2xf32>, tensor<3xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
