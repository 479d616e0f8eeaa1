// Groups of two processes in a program of one.
func.func @main(%arg0: tensor<8xf32>) -> tensor<16xf32> {
  %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
