// A reversal of two sharded dimensions moves each block once: the permutations along "x" and "y" become one.
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func @main(%a: tensor<2x32x64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) -> (tensor<2x32x64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) {
    %0 = stablehlo.reverse %a, dims = [1, 2] : tensor<2x32x64x8xf32>
    return %0 : tensor<2x32x64x8xf32>
  }
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<2x8x32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>, shardwise.global_type = tensor<2x32x64x8xf32>}) -> (tensor<2x8x32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>, shardwise.global_type = tensor<2x32x64x8xf32>}) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<2x8x32x8xf32>
    %1 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 3], [1, 2], [2, 1], [3, 0]]> : tensor<4x2xi64>}> {shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<2x8x32x8xf32>) -> tensor<2x8x32x8xf32>
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.constant dense<0.000000e+00> : tensor<2x8x32x8xf32>
    %4 = "stablehlo.collective_permute"(%1) {shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>, shardwise.shift = 1 : i64, shardwise.wraps} : (tensor<2x8x32x8xf32>) -> tensor<2x8x32x8xf32>
    %5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reverse %4, dims = [1, 2] : tensor<2x8x32x8xf32>
    return %6 : tensor<2x8x32x8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<2x8x32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>, shardwise.global_type = tensor<2x32x64x8xf32>}) -> (tensor<2x8x32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>, shardwise.global_type = tensor<2x32x64x8xf32>}) {
    %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 7], [1, 6], [2, 5], [3, 4], [4, 3], [5, 2], [6, 1], [7, 0]]> : tensor<8x2xi64>}> {shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>} : (tensor<2x8x32x8xf32>) -> tensor<2x8x32x8xf32>
    %1 = stablehlo.reverse %0, dims = [1, 2] : tensor<2x8x32x8xf32>
    return %1 : tensor<2x8x32x8xf32>
  }
}
