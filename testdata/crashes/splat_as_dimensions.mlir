// refused
// A list of 2^31 equal numbers takes a few bytes of text.
func.func @main(%a: tensor<8xi32>) -> tensor<8x8xi32> {
  %1 = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = dense<0> : tensor<2147483648xi64>}> : (tensor<8xi32>) -> tensor<8x8xi32>
  return %1 : tensor<8x8xi32>
}
