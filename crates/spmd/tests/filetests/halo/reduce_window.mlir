// A maximum over windows; the initial value is outside of the operand.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %v: tensor<f32>) -> (tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = "stablehlo.reduce_window"(%a, %v) <{window_dimensions = array<i64: 3, 1>, padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<16x6xf32>, tensor<f32>) -> tensor<16x6xf32>
  return %0 : tensor<16x6xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %1 = stablehlo.maximum %arg2, %arg3 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<16x6xf32>, tensor<f32>) -> tensor<16x6xf32>
    return %0 : tensor<16x6xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<4x6xf32>, %arg3: tensor<f32>) {
      %1 = stablehlo.slice %arg2 [3:4, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x6xf32>) -> tensor<1x6xf32>
      %2 = "stablehlo.collective_permute"(%1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64} : (tensor<1x6xf32>) -> tensor<1x6xf32>
      %3 = stablehlo.slice %arg2 [0:1, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x6xf32>) -> tensor<1x6xf32>
      %4 = "stablehlo.collective_permute"(%3) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = -1 : i64} : (tensor<1x6xf32>) -> tensor<1x6xf32>
      %5 = stablehlo.concatenate %2, %arg2, %4, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x6xf32>, tensor<4x6xf32>, tensor<1x6xf32>) -> tensor<6x6xf32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
      %7 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %8 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<4> : tensor<i32>
      %9 = stablehlo.multiply %7, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %10 = stablehlo.add %6, %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %11 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %12 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<16> : tensor<i32>
      %13 = stablehlo.subtract %11, %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %14 = stablehlo.subtract %12, %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %15 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x6xi32>
      %16 = stablehlo.broadcast_in_dim %13, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x6xi32>
      %17 = stablehlo.broadcast_in_dim %14, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x6xi32>
      %18 = stablehlo.compare GE, %15, %16, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
      %19 = stablehlo.compare LT, %15, %17, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x6xi32>, tensor<6x6xi32>) -> tensor<6x6xi1>
      %20 = stablehlo.and %18, %19 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x6xi1>
      %21 = stablehlo.broadcast_in_dim %arg3, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<6x6xf32>
      %22 = stablehlo.select %20, %5, %21 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x6xi1>, tensor<6x6xf32>
      %23 = "stablehlo.reduce_window"(%22, %arg3) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %24 = stablehlo.maximum %arg4, %arg5 : tensor<f32>
        stablehlo.return %24 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x6xf32>, tensor<f32>) -> tensor<4x6xf32>
      sdy.return %23 : tensor<4x6xf32>
    } {shardwise.made} : (tensor<16x6xf32>, tensor<f32>) -> tensor<16x6xf32>
    return %0 : tensor<16x6xf32>
  }
}
