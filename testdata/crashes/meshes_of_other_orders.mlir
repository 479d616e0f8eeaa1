// Two meshes of the same devices in an order that no axes of the other have: wrong results.
sdy.mesh @a = <["x"=2, "y"=2]>
sdy.mesh @b = <["x"=2, "y"=2], device_ids=[3, 1, 0, 2]>
func.func @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}, {"y"}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@b, [{"y"}, {}]>}) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
