// The totals are large, so they are sent on in two steps.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %v = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %v) <{window_dimensions = array<i64: 16, 1>, padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<16x256xf32>, tensor<f32>) -> tensor<16x256xf32>
  return %0 : tensor<16x256xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<16x256xf32>, tensor<f32>) -> tensor<16x256xf32>
    return %1 : tensor<16x256xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = sdy.manual_computation(%arg0, %0) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x256xf32>, %arg2: tensor<f32>) {
      %2 = "stablehlo.reduce_window"(%arg1, %arg2) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %21 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %21 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x256xf32>, tensor<f32>) -> tensor<1x256xf32>
      %3 = "stablehlo.collective_permute"(%2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64} : (tensor<1x256xf32>) -> tensor<1x256xf32>
      %4 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %5 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %6 = stablehlo.compare GE, %4, %5, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %7 = stablehlo.broadcast_in_dim %arg2, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<1x256xf32>
      %8 = stablehlo.select %6, %3, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<i1>, tensor<1x256xf32>
      %9 = stablehlo.concatenate %8, %2, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x256xf32>, tensor<1x256xf32>) -> tensor<2x256xf32>
      %10 = "stablehlo.reduce_window"(%9, %arg2) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %21 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %21 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x256xf32>, tensor<f32>) -> tensor<1x256xf32>
      %11 = "stablehlo.collective_permute"(%10) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 2 : i64} : (tensor<1x256xf32>) -> tensor<1x256xf32>
      %12 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
      %13 = stablehlo.compare GE, %4, %12, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %14 = stablehlo.broadcast_in_dim %arg2, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<1x256xf32>
      %15 = stablehlo.select %13, %11, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<i1>, tensor<1x256xf32>
      %16 = stablehlo.concatenate %15, %8, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x256xf32>, tensor<1x256xf32>) -> tensor<2x256xf32>
      %17 = "stablehlo.reduce_window"(%16, %arg2) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %21 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %21 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x256xf32>, tensor<f32>) -> tensor<1x256xf32>
      %18 = stablehlo.concatenate %17, %arg1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x256xf32>, tensor<4x256xf32>) -> tensor<5x256xf32>
      %19 = "stablehlo.reduce_window"(%18, %arg2) <{padding = dense<[[4, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 5, 1>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %21 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %21 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<5x256xf32>, tensor<f32>) -> tensor<5x256xf32>
      %20 = stablehlo.slice %19 [1:5, 0:256] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<5x256xf32>) -> tensor<4x256xf32>
      sdy.return %20 : tensor<4x256xf32>
    } {shardwise.made} : (tensor<16x256xf32>, tensor<f32>) -> tensor<16x256xf32>
    return %1 : tensor<16x256xf32>
  }
}
