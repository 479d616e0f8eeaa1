// refused
// A dynamic slice of floats has integers as its result type, which is only found when the op runs.
func.func @main(%arg0: tensor<6xf32>) -> tensor<2xi32> {
  %c = stablehlo.constant dense<1> : tensor<1xi32>
  %c_0 = stablehlo.constant dense<3> : tensor<1xi32>
  %0 = stablehlo.real_dynamic_slice %arg0, %c, %c_0, %c : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
