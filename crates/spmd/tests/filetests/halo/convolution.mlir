// Both spatial dimensions are split: the halos of the second one include the corners.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<2x16x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}, %k: tensor<3x3x3x5xf32>) -> (tensor<2x16x8x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x8x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x16x8x5xf32>
  return %0 : tensor<2x16x8x5xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<2x16x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}, %arg1: tensor<3x3x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}) -> (tensor<2x16x8x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}, {"y"}, {}]>]>} : (tensor<2x16x8x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x16x8x5xf32>
    return %0 : tensor<2x16x8x5xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<2x16x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}, %arg1: tensor<3x3x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}) -> (tensor<2x16x8x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{}, {"x"}, {"y"}, {}]>, <@mesh, [{}, {}, {}, {}]>] out_shardings=[<@mesh, [{}, {"x"}, {"y"}, {}]>] manual_axes={"x", "y"} (%arg2: tensor<2x4x4x3xf32>, %arg3: tensor<3x3x3x5xf32>) {
      %1 = stablehlo.slice %arg2 [0:2, 3:4, 0:4, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>} : (tensor<2x4x4x3xf32>) -> tensor<2x1x4x3xf32>
      %2 = "stablehlo.collective_permute"(%1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64} : (tensor<2x1x4x3xf32>) -> tensor<2x1x4x3xf32>
      %3 = stablehlo.slice %arg2 [0:2, 0:1, 0:4, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>} : (tensor<2x4x4x3xf32>) -> tensor<2x1x4x3xf32>
      %4 = "stablehlo.collective_permute"(%3) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = -1 : i64} : (tensor<2x1x4x3xf32>) -> tensor<2x1x4x3xf32>
      %5 = stablehlo.concatenate %2, %arg2, %4, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>} : (tensor<2x1x4x3xf32>, tensor<2x4x4x3xf32>, tensor<2x1x4x3xf32>) -> tensor<2x6x4x3xf32>
      %6 = stablehlo.slice %5 [0:2, 0:6, 3:4, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>} : (tensor<2x6x4x3xf32>) -> tensor<2x6x1x3xf32>
      %7 = "stablehlo.collective_permute"(%6) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>, shardwise.shift = 1 : i64} : (tensor<2x6x1x3xf32>) -> tensor<2x6x1x3xf32>
      %8 = stablehlo.slice %5 [0:2, 0:6, 0:1, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>} : (tensor<2x6x4x3xf32>) -> tensor<2x6x1x3xf32>
      %9 = "stablehlo.collective_permute"(%8) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>, shardwise.shift = -1 : i64} : (tensor<2x6x1x3xf32>) -> tensor<2x6x1x3xf32>
      %10 = stablehlo.concatenate %7, %5, %9, dim = 2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>} : (tensor<2x6x1x3xf32>, tensor<2x6x4x3xf32>, tensor<2x6x1x3xf32>) -> tensor<2x6x6x3xf32>
      %11 = stablehlo.convolution(%10, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}, {}]>]>} : (tensor<2x6x6x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x4x4x5xf32>
      sdy.return %11 : tensor<2x4x4x5xf32>
    } {shardwise.made} : (tensor<2x16x8x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x16x8x5xf32>
    return %0 : tensor<2x16x8x5xf32>
  }
}
