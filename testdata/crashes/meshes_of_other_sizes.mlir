// Two meshes of different numbers of devices: wrong and uninitialised results.
sdy.mesh @a = <["x"=2, "y"=2]>
sdy.mesh @b = <["p"=2]>
func.func @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}, {"y"}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@b, [{"p"}, {}]>}) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
