// An unreduced argument counted once for each device, and an unreduced result was the first device's summand.
sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>}) {
  return %arg0 : tensor<8xf32>
}
