// runs
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8x4xi4> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<8x4xf8E5M2> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4xi4> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<8x4xf8E5M2> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  return %x, %y : tensor<8x4xi4>, tensor<8x4xf8E5M2>
}
