// run: sdy-reshard-to-collectives
// Slice, permute, exchange, gather: in this order, whatever it costs.
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @main(%a: tensor<24x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, %b: tensor<24x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>}, %c: tensor<24x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>) {
  %0 = sdy.reshard %a <@mesh, [{}, {"y", "x"}]> : tensor<24x24xf32>
  %1 = sdy.reshard %b <@mesh, [{}, {"y"}]> : tensor<24x24xf32>
  %2 = sdy.reshard %c <@mesh, [{"y"}, {}]> : tensor<24x24xf32>
  %3 = sdy.reshard %a <@mesh, [{}, {}]> : tensor<24x24xf32>
  return %0, %1, %2, %3 : tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
  func.func @main(%arg0: tensor<24x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, %arg1: tensor<24x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>}, %arg2: tensor<24x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>) {
    %0 = sdy.collective_permute %arg0 out_sharding=<@mesh, [{"y", "x"}, {}]> : tensor<24x24xf32>
    %1 = sdy.all_to_all [{"y", "x"}: 0->1] %0 out_sharding=<@mesh, [{}, {"y", "x"}]> : tensor<24x24xf32>
    %2 = sdy.all_slice [{}, {"y"}] %arg1 out_sharding=<@mesh, [{"z"}, {"y"}]> : tensor<24x24xf32>
    %3 = sdy.all_gather [{"z"}, {}] %2 out_sharding=<@mesh, [{}, {"y"}]> : tensor<24x24xf32>
    %4 = sdy.all_slice [{"y"}, {}] %arg2 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<24x24xf32>
    %5 = sdy.all_gather [{}, {"x"}] %4 out_sharding=<@mesh, [{"y"}, {}]> : tensor<24x24xf32>
    %6 = sdy.all_gather [{"x", "y"}, {}] %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<24x24xf32>
    return %1, %3, %5, %6 : tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>, tensor<24x24xf32>
  }
}
