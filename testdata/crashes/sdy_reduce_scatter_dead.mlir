// A `sdy.reduce_scatter` that nobody uses, of an unreduced argument: indices out of bounds, and the argument counted twice.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>}) -> tensor<8x4xf32> {
  %0 = sdy.reduce_scatter [{}, {"y"}] %arg0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x4xf32>
  return %arg0 : tensor<8x4xf32>
}
