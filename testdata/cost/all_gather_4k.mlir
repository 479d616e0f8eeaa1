// calls: 500
module {
 sdy.mesh @mesh = <["X"=8]>
 func.func public @main(%x: tensor<8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}]>}) -> tensor<8192xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"X"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"X"} (%a: tensor<1024xf32>) {
   %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<1024xf32>) -> tensor<8192xf32>
   sdy.return %1 : tensor<8192xf32>
  } : (tensor<8192xf32>) -> tensor<8192xf32>
  return %0 : tensor<8192xf32>
 }
}
