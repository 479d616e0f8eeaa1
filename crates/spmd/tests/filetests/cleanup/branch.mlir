// An op with an effect stays, and so does what only its regions use.
func.func @main(%p: tensor<i1>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  %1 = "stablehlo.if"(%p) ({
    stablehlo.return %0 : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
// ---- expected
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %arg1 : tensor<4xf32>
    %1 = "stablehlo.if"(%arg0) ({
      stablehlo.return %0 : tensor<4xf32>
    }, {
      stablehlo.return %arg1 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %arg1 : tensor<4xf32>
  }
}
