// The grid of tiles of an argument becomes axes of a mesh.
func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) {
  %0 = stablehlo.negate %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["axis_0"=2, "axis_1"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {"axis_1"}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0", "axis_1"}, {}]>}) {
    %0 = stablehlo.negate %arg0 : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
