// Windows along two dimensions of which both are split.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %v = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %v) <{window_dimensions = array<i64: 8, 3>, padding = dense<[[7, 0], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[7, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 8, 3>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xf32>
    return %1 : tensor<8x6xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = sdy.manual_computation(%arg0, %0) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg1: tensor<2x3xf32>, %arg2: tensor<f32>) {
      %2 = "stablehlo.reduce_window"(%arg1, %arg2) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %40 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %40 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<1x3xf32>
      %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x3xf32>) -> tensor<4x3xf32>
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
      %5 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %7 = stablehlo.multiply %5, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %8 = stablehlo.add %4, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %9 = stablehlo.broadcast_in_dim %8, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<4x3xi32>
      %10 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x3xi32>
      %11 = stablehlo.compare LE, %10, %9, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi1>
      %12 = stablehlo.broadcast_in_dim %arg2, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<4x3xf32>
      %13 = stablehlo.select %11, %3, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x3xi1>, tensor<4x3xf32>
      %14 = "stablehlo.reduce_window"(%13, %arg2) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %40 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %40 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x3xf32>, tensor<f32>) -> tensor<1x3xf32>
      %15 = stablehlo.concatenate %14, %arg1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
      %16 = stablehlo.slice %15 [0:3, 2:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<3x3xf32>) -> tensor<3x1xf32>
      %17 = "stablehlo.collective_permute"(%16) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>, shardwise.shift = 1 : i64} : (tensor<3x1xf32>) -> tensor<3x1xf32>
      %18 = stablehlo.slice %15 [0:3, 0:1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<3x3xf32>) -> tensor<3x1xf32>
      %19 = "stablehlo.collective_permute"(%18) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>, shardwise.shift = -1 : i64} : (tensor<3x1xf32>) -> tensor<3x1xf32>
      %20 = stablehlo.concatenate %17, %15, %19, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<3x1xf32>, tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x5xf32>
      %21 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
      %22 = shardwise.axis_index <@mesh, {"y"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %23 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
      %24 = stablehlo.multiply %22, %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %25 = stablehlo.add %21, %24 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %26 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %27 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<6> : tensor<i32>
      %28 = stablehlo.subtract %26, %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %29 = stablehlo.subtract %27, %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %30 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<3x5xi32>
      %31 = stablehlo.broadcast_in_dim %28, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<3x5xi32>
      %32 = stablehlo.broadcast_in_dim %29, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<3x5xi32>
      %33 = stablehlo.compare GE, %30, %31, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
      %34 = stablehlo.compare LT, %30, %32, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>
      %35 = stablehlo.and %33, %34 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<3x5xi1>
      %36 = stablehlo.broadcast_in_dim %arg2, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<3x5xf32>
      %37 = stablehlo.select %35, %20, %36 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<3x5xi1>, tensor<3x5xf32>
      %38 = "stablehlo.reduce_window"(%37, %arg2) <{padding = dense<[[2, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 3>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %40 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %40 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x3xf32>
      %39 = stablehlo.slice %38 [1:3, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<3x3xf32>) -> tensor<2x3xf32>
      sdy.return %39 : tensor<2x3xf32>
    } {shardwise.made} : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x6xf32>
    return %1 : tensor<8x6xf32>
  }
}
