// refused
// The result of a dynamic padding has another rank than the operand, which is only found when the op runs.
func.func @main(%x: tensor<2xf32>, %v: tensor<f32>) -> tensor<5x2xf32> {
  %c = stablehlo.constant dense<1> : tensor<1xi32>
  %0 = stablehlo.dynamic_pad %x, %v, %c, %c, %c : (tensor<2xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<5x2xf32>
  return %0 : tensor<5x2xf32>
}
