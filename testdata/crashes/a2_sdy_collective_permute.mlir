// runs
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<24x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> tensor<24x24xf32> {
  %0 = sdy.collective_permute %x out_sharding=<@mesh, [{"y", "x"}, {}]> : tensor<24x24xf32>
  return %0 : tensor<24x24xf32>
}
