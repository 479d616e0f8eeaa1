// Neighbouring parts of one axis, which are the whole axis: the plan of a reshard had no steps.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x":(1)2, "x":(2)2}, {"y"}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
