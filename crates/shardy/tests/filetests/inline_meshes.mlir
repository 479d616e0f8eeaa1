// run: sdy-inline-meshes
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = sdy.reshard %a <@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
module {
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>}) -> tensor<8xf32> {
    %0 = sdy.reshard %arg0 <mesh<["x"=2]>, [{}]> : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
