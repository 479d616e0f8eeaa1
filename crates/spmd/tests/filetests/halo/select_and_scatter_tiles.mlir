// Along two dimensions, of which one is split over two axes.
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}, %s: tensor<14x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}, %v: tensor<f32>) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}) {
  %0 = "stablehlo.select_and_scatter"(%a, %s, %v) <{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<16x8xf32>, tensor<14x3xf32>, tensor<f32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}, %arg1: tensor<14x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}, %arg2: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}) {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 1, 2>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.compare GE, %arg3, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", "y"}, {"z"}]>]>} : (tensor<16x8xf32>, tensor<14x3xf32>, tensor<f32>) -> tensor<16x8xf32>
    return %0 : tensor<16x8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}, %arg1: tensor<14x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}, %arg2: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {"z"}]>}) {
    %0 = "shardwise.resize"(%arg1) <{sizes = array<i64: 16, 3>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", "y"}, {"z"}]>]>} : (tensor<14x3xf32>) -> tensor<16x3xf32>
    %1 = "shardwise.resize"(%0) <{sizes = array<i64: 16, 4>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", "y"}, {"z"}]>]>} : (tensor<16x3xf32>) -> tensor<16x4xf32>
    %2 = sdy.manual_computation(%arg0, %1, %arg2) in_shardings=[<@mesh, [{"x", "y"}, {"z"}]>, <@mesh, [{"x", "y"}, {"z"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x", "y"}, {"z"}]>] manual_axes={"x", "y", "z"} (%arg3: tensor<4x4xf32>, %arg4: tensor<4x2xf32>, %arg5: tensor<f32>) {
      %3 = stablehlo.slice %arg3 [2:4, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
      %4 = "stablehlo.collective_permute"(%3) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>, shardwise.shift = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %5 = stablehlo.slice %arg3 [0:2, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
      %6 = "stablehlo.collective_permute"(%5) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>, shardwise.shift = -1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %7 = stablehlo.concatenate %4, %arg3, %6, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
      %8 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-0.000000e+00> : tensor<f32>
      %9 = stablehlo.slice %arg4 [2:4, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x2xf32>) -> tensor<2x2xf32>
      %10 = "stablehlo.collective_permute"(%9) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>, shardwise.shift = 1 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
      %11 = stablehlo.concatenate %10, %arg4, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x2xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
      %12 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-2> : tensor<i32>
      %13 = shardwise.axis_index <@mesh, {"x", "y"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %14 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<4> : tensor<i32>
      %15 = stablehlo.multiply %13, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %16 = stablehlo.add %12, %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %17 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %18 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<14> : tensor<i32>
      %19 = stablehlo.subtract %17, %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %20 = stablehlo.subtract %18, %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %21 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x2xi32>
      %22 = stablehlo.broadcast_in_dim %19, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x2xi32>
      %23 = stablehlo.broadcast_in_dim %20, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x2xi32>
      %24 = stablehlo.compare GE, %21, %22, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x2xi32>, tensor<6x2xi32>) -> tensor<6x2xi1>
      %25 = stablehlo.compare LT, %21, %23, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x2xi32>, tensor<6x2xi32>) -> tensor<6x2xi1>
      %26 = stablehlo.and %24, %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x2xi1>
      %27 = stablehlo.broadcast_in_dim %8, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<6x2xf32>
      %28 = stablehlo.select %26, %11, %27 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x2xi1>, tensor<6x2xf32>
      %29 = stablehlo.slice %7 [0:8, 2:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x4xf32>) -> tensor<8x2xf32>
      %30 = "stablehlo.collective_permute"(%29) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "z">]>, shardwise.shift = 1 : i64} : (tensor<8x2xf32>) -> tensor<8x2xf32>
      %31 = stablehlo.slice %7 [0:8, 0:1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x4xf32>) -> tensor<8x1xf32>
      %32 = "stablehlo.collective_permute"(%31) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "z">]>, shardwise.shift = -1 : i64} : (tensor<8x1xf32>) -> tensor<8x1xf32>
      %33 = stablehlo.concatenate %30, %7, %32, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x2xf32>, tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<8x7xf32>
      %34 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-0.000000e+00> : tensor<f32>
      %35 = stablehlo.slice %28 [0:6, 1:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x2xf32>) -> tensor<6x1xf32>
      %36 = "stablehlo.collective_permute"(%35) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "z">]>, shardwise.shift = 1 : i64} : (tensor<6x1xf32>) -> tensor<6x1xf32>
      %37 = stablehlo.concatenate %36, %28, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x1xf32>, tensor<6x2xf32>) -> tensor<6x3xf32>
      %38 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
      %39 = shardwise.axis_index <@mesh, {"z"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %40 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
      %41 = stablehlo.multiply %39, %40 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %42 = stablehlo.add %38, %41 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %43 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %44 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
      %45 = stablehlo.subtract %43, %42 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %46 = stablehlo.subtract %44, %42 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %47 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x3xi32>
      %48 = stablehlo.broadcast_in_dim %45, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x3xi32>
      %49 = stablehlo.broadcast_in_dim %46, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x3xi32>
      %50 = stablehlo.compare GE, %47, %48, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x3xi32>, tensor<6x3xi32>) -> tensor<6x3xi1>
      %51 = stablehlo.compare LT, %47, %49, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x3xi32>, tensor<6x3xi32>) -> tensor<6x3xi1>
      %52 = stablehlo.and %50, %51 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x3xi1>
      %53 = stablehlo.broadcast_in_dim %34, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<f32>) -> tensor<6x3xf32>
      %54 = stablehlo.select %52, %37, %53 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x3xi1>, tensor<6x3xf32>
      %55 = "stablehlo.select_and_scatter"(%33, %54, %arg5) <{window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 1, 2>}> ({
      ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
        %58 = stablehlo.compare GE, %arg6, %arg7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %58 : tensor<i1>
      }, {
      ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
        %58 = stablehlo.add %arg6, %arg7 : tensor<f32>
        stablehlo.return %58 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x7xf32>, tensor<6x3xf32>, tensor<f32>) -> tensor<8x7xf32>
      %56 = stablehlo.slice %55 [2:6, 0:7] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x7xf32>) -> tensor<4x7xf32>
      %57 = stablehlo.slice %56 [0:4, 2:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x7xf32>) -> tensor<4x4xf32>
      sdy.return %57 : tensor<4x4xf32>
    } {shardwise.made} : (tensor<16x8xf32>, tensor<16x4xf32>, tensor<f32>) -> tensor<16x8xf32>
    return %2 : tensor<16x8xf32>
  }
}
