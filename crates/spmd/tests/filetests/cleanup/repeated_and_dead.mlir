// Equal ops are one, dead ops go, integers are computed.
func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
  %0 = stablehlo.negate %a : tensor<4xf32>
  %1 = stablehlo.negate %a : tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  %3 = stablehlo.multiply %0, %1 : tensor<4xf32>
  %4 = stablehlo.reshape %2 : (tensor<4xf32>) -> tensor<4xf32>
  %c = stablehlo.constant dense<3> : tensor<i32>
  %5 = stablehlo.multiply %c, %c : tensor<i32>
  return %4, %5 : tensor<4xf32>, tensor<i32>
}
// ---- expected
// before
module {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
    %0 = stablehlo.negate %arg0 : tensor<4xf32>
    %1 = stablehlo.negate %arg0 : tensor<4xf32>
    %2 = stablehlo.add %0, %1 : tensor<4xf32>
    %3 = stablehlo.reshape %2 : (tensor<4xf32>) -> tensor<4xf32>
    %4 = stablehlo.constant dense<3> : tensor<i32>
    %5 = stablehlo.multiply %4, %4 : tensor<i32>
    return %3, %5 : tensor<4xf32>, tensor<i32>
  }
}
// after
module {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>) {
    %0 = stablehlo.negate %arg0 : tensor<4xf32>
    %1 = stablehlo.add %0, %0 : tensor<4xf32>
    %2 = stablehlo.constant dense<9> : tensor<i32>
    return %1, %2 : tensor<4xf32>, tensor<i32>
  }
}
