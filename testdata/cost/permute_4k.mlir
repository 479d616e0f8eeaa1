// calls: 500
module {
 sdy.mesh @mesh = <["X"=8]>
 func.func public @main(%x: tensor<8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}]>}) -> tensor<8192xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"X"}]>] out_shardings=[<@mesh, [{"X"}]>] manual_axes={"X"} (%a: tensor<1024xf32>) {
   %1 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1024xf32>) -> tensor<1024xf32>
   sdy.return %1 : tensor<1024xf32>
  } : (tensor<8192xf32>) -> tensor<8192xf32>
  return %0 : tensor<8192xf32>
 }
}
