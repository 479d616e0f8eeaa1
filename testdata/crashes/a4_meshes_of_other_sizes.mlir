// refused
sdy.mesh @one = <["x"=16]>
sdy.mesh @two = <["q"=4]>
func.func @main(%a: tensor<16xui16> {sdy.sharding = #sdy.sharding<@one, [{"x"}]>}, %b: tensor<16xui16> {sdy.sharding = #sdy.sharding<@two, [{"q"}]>}) -> tensor<16xui16> {
  %0 = stablehlo.add %a, %b : tensor<16xui16>
  return %0 : tensor<16xui16>
}
