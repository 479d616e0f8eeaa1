// run: sdy-lift-inlined-meshes
sdy.mesh @one = <["x"=2]>
sdy.mesh @two = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@two, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["q"=4]>, [{"q"}]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @one = <["x"=2]>
  sdy.mesh @mesh = <["q"=4]>
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@one, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"q"}]>}) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
}
