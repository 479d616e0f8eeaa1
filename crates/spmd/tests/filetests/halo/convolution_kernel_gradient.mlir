// The gradient of a kernel: both operands are split along the window, and the partial results are summed.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<3x32x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %g: tensor<16x2x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<3x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = stablehlo.convolution(%a, %g) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 0]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x32x2xf32>, tensor<16x2x5xf32>) -> tensor<3x3x5xf32>
  return %0 : tensor<3x3x5xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<3x32x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<16x2x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<3x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 0]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}], unreduced={"x"}>]>} : (tensor<3x32x2xf32>, tensor<16x2x5xf32>) -> tensor<3x3x5xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}, {}]> : tensor<3x3x5xf32>
    return %1 : tensor<3x3x5xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<3x32x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<16x2x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<3x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{}, {"x"}, {}]>, <@mesh, [{"x"}, {}, {}]>] out_shardings=[<@mesh, [{}, {}, {}], unreduced={"x"}>] manual_axes={"x"} (%arg2: tensor<3x8x2xf32>, %arg3: tensor<4x2x5xf32>) {
      %2 = stablehlo.slice %arg2 [0:3, 7:8, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x8x2xf32>) -> tensor<3x1x2xf32>
      %3 = "stablehlo.collective_permute"(%2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64} : (tensor<3x1x2xf32>) -> tensor<3x1x2xf32>
      %4 = stablehlo.concatenate %3, %arg2, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x1x2xf32>, tensor<3x8x2xf32>) -> tensor<3x9x2xf32>
      %5 = stablehlo.convolution(%4, %arg3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x9x2xf32>, tensor<4x2x5xf32>) -> tensor<3x3x5xf32>
      sdy.return %5 : tensor<3x3x5xf32>
    } {shardwise.made} : (tensor<3x32x2xf32>, tensor<16x2x5xf32>) -> tensor<3x3x5xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}, {}]> : tensor<3x3x5xf32>
    return %1 : tensor<3x3x5xf32>
  }
}
