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
module {
  func.func @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = call @two_0() : () -> tensor<8xf32>
    %1 = call @two_1() : () -> tensor<8xf32>
    %2 = stablehlo.add %arg0, %0 : tensor<8xf32>
    %3 = stablehlo.multiply %arg0, %1 : tensor<8xf32>
    return %2, %3 : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @two() -> tensor<8xf32> {
    %0 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @two_0() -> tensor<8xf32> attributes {sdy.original_func_name = "two"} {
    %0 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @two_1() -> tensor<8xf32> attributes {sdy.original_func_name = "two"} {
    %0 = sdy.constant dense<2.000000e+00> : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
