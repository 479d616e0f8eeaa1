// Devices in an order that no grid has get a mesh of their own.
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]0,2,3,1}"}, %b: tensor<8xf32> {mhlo.sharding = "{maximal device=2}"}) -> tensor<8xf32> {
  %0 = stablehlo.negate %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["axis_0"=4], device_ids=[0, 2, 3, 1]>
  sdy.mesh @maximal_mesh = <[], device_ids=[2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<8xf32> {
    %0 = stablehlo.negate %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["axis_0"=4], device_ids=[0, 2, 3, 1]>
  sdy.mesh @maximal_mesh = <[], device_ids=[2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0", ?}]>}) {
    %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"axis_0", ?}]>]>} : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
