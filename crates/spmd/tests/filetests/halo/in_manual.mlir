// Along a free axis in a manual computation.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"y"} (%x: tensor<32x2xf32>) {
    %1 = stablehlo.reverse %x, dims = [0] : tensor<32x2xf32>
    sdy.return %1 : tensor<32x2xf32>
  } : (tensor<32x4xf32>) -> tensor<32x4xf32>
  return %0 : tensor<32x4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"y"} (%arg1: tensor<32x2xf32>) {
      %1 = stablehlo.reverse %arg1, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<32x2xf32>
      sdy.return %1 : tensor<32x2xf32>
    } : (tensor<32x4xf32>) -> tensor<32x4xf32>
    return %0 : tensor<32x4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"y"} (%arg1: tensor<32x2xf32>) {
      %1 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<8x2xf32>) {
        %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} dense<0.000000e+00> : tensor<8x2xf32>
        %3 = "stablehlo.collective_permute"(%arg2) <{source_target_pairs = dense<[[0, 3], [1, 2], [2, 1], [3, 0]]> : tensor<4x2xi64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<8x2xf32>) -> tensor<8x2xf32>
        %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
        %5 = stablehlo.reverse %3, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<8x2xf32>
        sdy.return %5 : tensor<8x2xf32>
      } {shardwise.made} : (tensor<32x2xf32>) -> tensor<32x2xf32>
      sdy.return %1 : tensor<32x2xf32>
    } : (tensor<32x4xf32>) -> tensor<32x4xf32>
    return %0 : tensor<32x4xf32>
  }
}
