// runs
sdy.mesh @mesh = <["x"=4]>
sdy.mesh @other = <["a"=2, "b"=2]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@other, [{"b"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.add %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}
