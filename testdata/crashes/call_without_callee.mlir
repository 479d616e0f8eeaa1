// refused: a call names a function
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "func.call"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
