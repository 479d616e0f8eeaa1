// A cumulative sum: the totals of all blocks are gathered.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %v = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %v) <{window_dimensions = array<i64: 16, 1>, padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<16x2xf32>, tensor<f32>) -> tensor<16x2xf32>
  return %0 : tensor<16x2xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<16x2xf32>, tensor<f32>) -> tensor<16x2xf32>
    return %1 : tensor<16x2xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = sdy.manual_computation(%arg0, %0) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x2xf32>, %arg2: tensor<f32>) {
      %2 = "stablehlo.reduce_window"(%arg1, %arg2) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %18 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %18 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<1x2xf32>
      %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x2xf32>) -> tensor<4x2xf32>
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
      %5 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %7 = stablehlo.multiply %5, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %8 = stablehlo.add %4, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %9 = stablehlo.broadcast_in_dim %8, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<4x2xi32>
      %10 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x2xi32>
      %11 = stablehlo.compare LE, %10, %9, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<4x2xi1>
      %12 = stablehlo.broadcast_in_dim %arg2, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<4x2xf32>
      %13 = stablehlo.select %11, %3, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x2xi1>, tensor<4x2xf32>
      %14 = "stablehlo.reduce_window"(%13, %arg2) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %18 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %18 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x2xf32>, tensor<f32>) -> tensor<1x2xf32>
      %15 = stablehlo.concatenate %14, %arg1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x2xf32>, tensor<4x2xf32>) -> tensor<5x2xf32>
      %16 = "stablehlo.reduce_window"(%15, %arg2) <{padding = dense<[[4, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 5, 1>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %18 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %18 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<5x2xf32>
      %17 = stablehlo.slice %16 [1:5, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<5x2xf32>) -> tensor<4x2xf32>
      sdy.return %17 : tensor<4x2xf32>
    } {shardwise.made} : (tensor<16x2xf32>, tensor<f32>) -> tensor<16x2xf32>
    return %1 : tensor<16x2xf32>
  }
}
