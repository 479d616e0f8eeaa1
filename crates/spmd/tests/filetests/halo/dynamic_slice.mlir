// The start is constant.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<i32>) -> (tensor<13x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %c = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %c, %i, sizes = [13, 2] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<13x2xf32>
  return %0 : tensor<13x2xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<13x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
    %1 = stablehlo.dynamic_slice %arg0, %0, %arg1, sizes = [13, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<13x2xf32>
    return %1 : tensor<13x2xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<13x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
    %1 = sdy.manual_computation(%arg0, %0, %arg1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<4x8xf32>, %arg3: tensor<i32>, %arg4: tensor<i32>) {
      %3 = stablehlo.slice %arg2 [2:4, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
      %4 = stablehlo.slice %arg2 [0:2, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
      %5 = "stablehlo.collective_permute"(%4) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = -1 : i64} : (tensor<2x8xf32>) -> tensor<2x8xf32>
      %6 = stablehlo.concatenate %3, %5, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
      %7 = stablehlo.dynamic_slice %6, %arg3, %arg4, sizes = [4, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
      sdy.return %7 : tensor<4x2xf32>
    } {shardwise.made} : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<16x2xf32>
    %2 = "shardwise.resize"(%1) <{sizes = array<i64: 13, 2>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<16x2xf32>) -> tensor<13x2xf32>
    return %2 : tensor<13x2xf32>
  }
}
