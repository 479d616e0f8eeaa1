// Markers say that all devices are manual in a tuple of one sharding, or in a tiling into one tile.
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{{manual}}"} : (tensor<8xf32>) -> tensor<4xf32>
  %2 = stablehlo.negate %1 : tensor<4xf32>
  %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{devices=[1,2]<=[2] last_tile_dims={manual}}"} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["axis_0"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}]>}) -> tensor<8xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"axis_0"}]> : tensor<8xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"axis_0"}]>] out_shardings=[<@mesh, [{"axis_0"}]>] manual_axes={"axis_0"} (%arg1: tensor<4xf32>) {
      %2 = stablehlo.negate %arg1 : tensor<4xf32>
      sdy.return %2 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
