// refused
sdy.mesh @mesh = <["x"=2]>
sdy.mesh @other = <["a"=1, "b"=2]>
func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@other, [{"b"}, {}]>}) -> tensor<4x4xf32> {
  %0 = sdy.all_gather [{"x"}, {}] %x out_sharding=<@mesh, [{}, {}]> : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
