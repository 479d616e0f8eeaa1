// XLA's older notation, in both versions: lists of devices, and reshaped and transposed numbers.
func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}, %b: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,2]0,4,1,5,2,6,3,7}"}, %c: tensor<8x4xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[8,1]<=[2,4]T(1,0)}"}) {
  %0 = stablehlo.add %a, %c : tensor<8x4xf32>
  %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.multiply %1, %b {mhlo.sharding = "{devices=[1,2,4]<=[8] last_tile_dim_replicate}"} : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["axis_0"=2, "axis_1"=4]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {}]>}, %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1"}, {"axis_0"}]>}, %arg2: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1", "axis_0"}, {}]>}) {
    %0 = stablehlo.add %arg0, %arg2 : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"axis_0"}, {?}]> : tensor<8x4xf32>
    %2 = stablehlo.multiply %1, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"axis_0"}]>]>} : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["axis_0"=2, "axis_1"=4]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {}]>}, %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1"}, {"axis_0"}]>}, %arg2: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1", "axis_0"}, {}]>}) {
    %0 = stablehlo.add %arg0, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"axis_0", ?}, {?}]>]>} : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"axis_0"}, {?}]> : tensor<8x4xf32>
    %2 = stablehlo.multiply %1, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"axis_0"}]>]>} : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
