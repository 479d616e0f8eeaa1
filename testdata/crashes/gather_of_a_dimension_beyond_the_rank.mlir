// refused
// The size of the result's dimension was compared before the dimension was checked.
func.func @main(%a: tensor<2xf32>) -> tensor<2x4xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
