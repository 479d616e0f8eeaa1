// run: sdy-constant-or-scalar-splitter
func.func @main(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = call @two() : () -> tensor<8xf32>
  %1 = stablehlo.add %a, %0 : tensor<8xf32>
  %2 = stablehlo.multiply %a, %0 : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
func.func private @two() -> tensor<8xf32> {
  %0 = stablehlo.constant dense<2.0> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
