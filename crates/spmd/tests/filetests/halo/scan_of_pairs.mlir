// The largest element so far and its index. The reducer is not commutative, and its pairs are scanned together.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<16x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %i = stablehlo.iota dim = 0 : tensor<16x64xi32>
  %v = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %w = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = "stablehlo.reduce_window"(%a, %i, %v, %w) <{window_dimensions = array<i64: 16, 1>, padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %j: tensor<i32>, %q: tensor<f32>, %k: tensor<i32>):
    %1 = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %p, %q : tensor<i1>, tensor<f32>
    %3 = stablehlo.select %1, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
  }) : (tensor<16x64xf32>, tensor<16x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<16x64xf32>, tensor<16x64xi32>)
  return %0#0, %0#1 : tensor<16x64xf32>, tensor<16x64xi32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<16x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<16x64xi32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %3:2 = "stablehlo.reduce_window"(%arg0, %0, %1, %2) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<f32>, %arg4: tensor<i32>):
      %4 = stablehlo.compare GE, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %6 = stablehlo.select %4, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %5, %6 : tensor<f32>, tensor<i32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]>} : (tensor<16x64xf32>, tensor<16x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<16x64xf32>, tensor<16x64xi32>)
    return %3#0, %3#1 : tensor<16x64xf32>, tensor<16x64xi32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<16x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<16x64xi32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %3:2 = sdy.manual_computation(%arg0, %0, %1, %2) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, []>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x64xf32>, %arg2: tensor<4x64xi32>, %arg3: tensor<f32>, %arg4: tensor<i32>) {
      %4:2 = "stablehlo.reduce_window"(%arg1, %arg2, %arg3, %arg4) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
      ^bb0(%arg5: tensor<f32>, %arg6: tensor<i32>, %arg7: tensor<f32>, %arg8: tensor<i32>):
        %37 = stablehlo.compare GE, %arg5, %arg7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %38 = stablehlo.select %37, %arg5, %arg7 : tensor<i1>, tensor<f32>
        %39 = stablehlo.select %37, %arg6, %arg8 : tensor<i1>, tensor<i32>
        stablehlo.return %38, %39 : tensor<f32>, tensor<i32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<4x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<1x64xf32>, tensor<1x64xi32>)
      %5 = "stablehlo.collective_permute"(%4#0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64} : (tensor<1x64xf32>) -> tensor<1x64xf32>
      %6 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %7 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %8 = stablehlo.compare GE, %6, %7, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %9 = stablehlo.broadcast_in_dim %arg3, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<1x64xf32>
      %10 = stablehlo.select %8, %5, %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<i1>, tensor<1x64xf32>
      %11 = "stablehlo.collective_permute"(%4#1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64} : (tensor<1x64xi32>) -> tensor<1x64xi32>
      %12 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %13 = stablehlo.compare GE, %6, %12, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %14 = stablehlo.broadcast_in_dim %arg4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<1x64xi32>
      %15 = stablehlo.select %13, %11, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<i1>, tensor<1x64xi32>
      %16 = stablehlo.concatenate %10, %4#0, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<2x64xf32>
      %17 = stablehlo.concatenate %15, %4#1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x64xi32>, tensor<1x64xi32>) -> tensor<2x64xi32>
      %18:2 = "stablehlo.reduce_window"(%16, %17, %arg3, %arg4) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>}> ({
      ^bb0(%arg5: tensor<f32>, %arg6: tensor<i32>, %arg7: tensor<f32>, %arg8: tensor<i32>):
        %37 = stablehlo.compare GE, %arg5, %arg7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %38 = stablehlo.select %37, %arg5, %arg7 : tensor<i1>, tensor<f32>
        %39 = stablehlo.select %37, %arg6, %arg8 : tensor<i1>, tensor<i32>
        stablehlo.return %38, %39 : tensor<f32>, tensor<i32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>]>} : (tensor<2x64xf32>, tensor<2x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<1x64xf32>, tensor<1x64xi32>)
      %19 = "stablehlo.collective_permute"(%18#0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 2 : i64} : (tensor<1x64xf32>) -> tensor<1x64xf32>
      %20 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
      %21 = stablehlo.compare GE, %6, %20, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %22 = stablehlo.broadcast_in_dim %arg3, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<1x64xf32>
      %23 = stablehlo.select %21, %19, %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<i1>, tensor<1x64xf32>
      %24 = "stablehlo.collective_permute"(%18#1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 2 : i64} : (tensor<1x64xi32>) -> tensor<1x64xi32>
      %25 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
      %26 = stablehlo.compare GE, %6, %25, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %27 = stablehlo.broadcast_in_dim %arg4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<1x64xi32>
      %28 = stablehlo.select %26, %24, %27 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<i1>, tensor<1x64xi32>
      %29 = stablehlo.concatenate %23, %10, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<2x64xf32>
      %30 = stablehlo.concatenate %28, %15, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x64xi32>, tensor<1x64xi32>) -> tensor<2x64xi32>
      %31:2 = "stablehlo.reduce_window"(%29, %30, %arg3, %arg4) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 1>}> ({
      ^bb0(%arg5: tensor<f32>, %arg6: tensor<i32>, %arg7: tensor<f32>, %arg8: tensor<i32>):
        %37 = stablehlo.compare GE, %arg5, %arg7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %38 = stablehlo.select %37, %arg5, %arg7 : tensor<i1>, tensor<f32>
        %39 = stablehlo.select %37, %arg6, %arg8 : tensor<i1>, tensor<i32>
        stablehlo.return %38, %39 : tensor<f32>, tensor<i32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>]>} : (tensor<2x64xf32>, tensor<2x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<1x64xf32>, tensor<1x64xi32>)
      %32 = stablehlo.concatenate %31#0, %arg1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x64xf32>, tensor<4x64xf32>) -> tensor<5x64xf32>
      %33 = stablehlo.concatenate %31#1, %arg2, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x64xi32>, tensor<4x64xi32>) -> tensor<5x64xi32>
      %34:2 = "stablehlo.reduce_window"(%32, %33, %arg3, %arg4) <{padding = dense<[[4, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 5, 1>}> ({
      ^bb0(%arg5: tensor<f32>, %arg6: tensor<i32>, %arg7: tensor<f32>, %arg8: tensor<i32>):
        %37 = stablehlo.compare GE, %arg5, %arg7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %38 = stablehlo.select %37, %arg5, %arg7 : tensor<i1>, tensor<f32>
        %39 = stablehlo.select %37, %arg6, %arg8 : tensor<i1>, tensor<i32>
        stablehlo.return %38, %39 : tensor<f32>, tensor<i32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>]>} : (tensor<5x64xf32>, tensor<5x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<5x64xf32>, tensor<5x64xi32>)
      %35 = stablehlo.slice %34#0 [1:5, 0:64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<5x64xf32>) -> tensor<4x64xf32>
      %36 = stablehlo.slice %34#1 [1:5, 0:64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<5x64xi32>) -> tensor<4x64xi32>
      sdy.return %35, %36 : tensor<4x64xf32>, tensor<4x64xi32>
    } {shardwise.made} : (tensor<16x64xf32>, tensor<16x64xi32>, tensor<f32>, tensor<i32>) -> (tensor<16x64xf32>, tensor<16x64xi32>)
    return %3#0, %3#1 : tensor<16x64xf32>, tensor<16x64xi32>
  }
}
