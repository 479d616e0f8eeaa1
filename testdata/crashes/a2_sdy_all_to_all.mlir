// runs
sdy.mesh @mesh = <["x"=4, "y"=4]>
func.func @main(%x: tensor<16x31xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<16x31xf32> {
  %0 = sdy.all_to_all [{"x"}: 0->1] %x out_sharding=<@mesh, [{}, {"x"}]> : tensor<16x31xf32>
  %1 = sdy.all_slice [{"y"}, {}] %0 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<16x31xf32>
  return %1 : tensor<16x31xf32>
}
