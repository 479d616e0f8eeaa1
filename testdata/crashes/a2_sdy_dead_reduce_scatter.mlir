sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = sdy.reduce_scatter [{}, {"y"}] %x out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %x : tensor<8x8xf32>
}
