// A mesh that nothing uses, and whose axes cannot express the ones that are used, is not the main mesh.
sdy.mesh @unused = <["x"=4]>
sdy.mesh @mesh = <["p"=4], device_ids=[3, 2, 1, 0]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"p"}, {}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.tanh %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["p"=4], device_ids=[3, 2, 1, 0]>
  sdy.mesh @unused = <["x"=4]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"p"}, {}]>}) -> tensor<8x4xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
