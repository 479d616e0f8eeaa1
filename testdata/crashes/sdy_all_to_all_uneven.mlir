// An `sdy.all_to_all` in the text over dimensions that do not divide: read beyond its buffers.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<31x31xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> tensor<31x31xf32> {
  %0 = sdy.all_to_all [{"y"}: 0->1] %arg0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<31x31xf32>
  return %0 : tensor<31x31xf32>
}
