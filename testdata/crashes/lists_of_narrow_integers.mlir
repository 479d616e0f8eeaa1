// refused
func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.slice"(%x) <{start_indices = array<i16: 0>, limit_indices = array<i16: 2>, strides = array<i16: 1>}> : (tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
