// Holes between the elements of the input.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<2x16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<4x3x5xf32>) -> (tensor<2x32x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]], lhs_dilate = [2], reverse = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x3xf32>, tensor<4x3x5xf32>) -> tensor<2x32x5xf32>
  return %0 : tensor<2x32x5xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<2x16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<4x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<2x32x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]], lhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {}]>]>} : (tensor<2x16x3xf32>, tensor<4x3x5xf32>) -> tensor<2x32x5xf32>
    return %0 : tensor<2x32x5xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<2x16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<4x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<2x32x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{}, {"x"}, {}]>, <@mesh, [{}, {}, {}]>] out_shardings=[<@mesh, [{}, {"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<2x4x3xf32>, %arg3: tensor<4x3x5xf32>) {
      %1 = stablehlo.slice %arg2 [0:2, 3:4, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %2 = "stablehlo.collective_permute"(%1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64} : (tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
      %3 = stablehlo.slice %arg2 [0:2, 0:1, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<2x4x3xf32>) -> tensor<2x1x3xf32>
      %4 = "stablehlo.collective_permute"(%3) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = -1 : i64} : (tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
      %5 = stablehlo.concatenate %2, %arg2, %4, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<2x1x3xf32>, tensor<2x4x3xf32>, tensor<2x1x3xf32>) -> tensor<2x6x3xf32>
      %6 = stablehlo.convolution(%5, %arg3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]], lhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<2x6x3xf32>, tensor<4x3x5xf32>) -> tensor<2x8x5xf32>
      sdy.return %6 : tensor<2x8x5xf32>
    } {shardwise.made} : (tensor<2x16x3xf32>, tensor<4x3x5xf32>) -> tensor<2x32x5xf32>
    return %0 : tensor<2x32x5xf32>
  }
}
