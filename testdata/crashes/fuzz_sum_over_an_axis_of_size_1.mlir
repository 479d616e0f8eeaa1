// runs
sdy.mesh @mesh = <["x"=1, "y"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<4xf32> {
  %0 = sdy.replicated_to_unreduced {"x"} %a out_sharding=<@mesh, [{"y"}], unreduced={"x"}> : tensor<4xf32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{"y"}]> : tensor<4xf32>
  return %1 : tensor<4xf32>
}
