// refused
// A list of 2^31 equal numbers takes a few bytes of text.
func.func @main(%a: tensor<8xi32>) -> tensor<8xi32> {
  %1 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<0> : tensor<2147483648x2xi64>}> : (tensor<8xi32>) -> tensor<8xi32>
  return %1 : tensor<8xi32>
}
