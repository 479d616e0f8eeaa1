// run: canonicalize
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = sdy.replicated_to_unreduced {"y"} %a out_sharding=<@mesh, [{"x"}], unreduced={"y"}> : tensor<8xf32>
  %1 = sdy.all_reduce {"y"} %0 out_sharding=<@mesh, [{"x"}]> : tensor<8xf32>
  %2 = sdy.all_reduce max {"y"} %0 out_sharding=<@mesh, [{"x"}]> : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = sdy.replicated_to_unreduced {"y"} %arg0 out_sharding=<@mesh, [{"x"}], unreduced={"y"}> : tensor<8xf32>
    %1 = sdy.all_reduce max {"y"} %0 out_sharding=<@mesh, [{"x"}]> : tensor<8xf32>
    return %arg0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
