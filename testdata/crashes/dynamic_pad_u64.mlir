// refused
// A padding of 2^64 - 1 (ui64) is read as -1 and removes an element; the result would have 2^64 + 2 elements.
func.func @main(%x: tensor<3xf32>, %v: tensor<f32>) -> tensor<2xf32> {
  %l = stablehlo.constant dense<18446744073709551615> : tensor<1xui64>
  %c = stablehlo.constant dense<0> : tensor<1xui64>
  %0 = stablehlo.dynamic_pad %x, %v, %l, %c, %c : (tensor<3xf32>, tensor<f32>, tensor<1xui64>, tensor<1xui64>, tensor<1xui64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
