// Along a part of an axis.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}, %s: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}, %v: tensor<f32>) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}) {
  %0 = "stablehlo.select_and_scatter"(%a, %s, %v) <{window_dimensions = array<i64: 4>, window_strides = array<i64: 2>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<16xf32>, tensor<7xf32>, tensor<f32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}, %arg1: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}, %arg2: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}) {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 4>, window_strides = array<i64: 2>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.compare GE, %arg3, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(2)2}]>]>} : (tensor<16xf32>, tensor<7xf32>, tensor<f32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}, %arg1: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}, %arg2: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}) {
    %0 = "shardwise.resize"(%arg1) <{sizes = array<i64: 8>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(2)2}]>]>} : (tensor<7xf32>) -> tensor<8xf32>
    %1 = sdy.manual_computation(%arg0, %0, %arg2) in_shardings=[<@mesh, [{"x":(2)2}]>, <@mesh, [{"x":(2)2}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x":(2)2}]>] manual_axes={"x":(2)2} (%arg3: tensor<8xf32>, %arg4: tensor<4xf32>, %arg5: tensor<f32>) {
      %2 = stablehlo.slice %arg3 [6:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xf32>) -> tensor<2xf32>
      %3 = "stablehlo.collective_permute"(%2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (2)2>]>, shardwise.shift = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
      %4 = stablehlo.slice %arg3 [0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xf32>) -> tensor<2xf32>
      %5 = "stablehlo.collective_permute"(%4) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (2)2>]>, shardwise.shift = -1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
      %6 = stablehlo.concatenate %3, %arg3, %5, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<2xf32>, tensor<8xf32>, tensor<2xf32>) -> tensor<12xf32>
      %7 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-0.000000e+00> : tensor<f32>
      %8 = stablehlo.slice %arg4 [3:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>) -> tensor<1xf32>
      %9 = "stablehlo.collective_permute"(%8) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (2)2>]>, shardwise.shift = 1 : i64} : (tensor<1xf32>) -> tensor<1xf32>
      %10 = stablehlo.concatenate %9, %arg4, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xf32>, tensor<4xf32>) -> tensor<5xf32>
      %11 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
      %12 = shardwise.axis_index <@mesh, {"x":(2)2}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %13 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<4> : tensor<i32>
      %14 = stablehlo.multiply %12, %13 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %15 = stablehlo.add %11, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %16 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %17 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<7> : tensor<i32>
      %18 = stablehlo.subtract %16, %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %19 = stablehlo.subtract %17, %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %20 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xi32>
      %21 = stablehlo.broadcast_in_dim %18, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<5xi32>
      %22 = stablehlo.broadcast_in_dim %19, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<5xi32>
      %23 = stablehlo.compare GE, %20, %21, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
      %24 = stablehlo.compare LT, %20, %22, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
      %25 = stablehlo.and %23, %24 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xi1>
      %26 = stablehlo.broadcast_in_dim %7, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<f32>) -> tensor<5xf32>
      %27 = stablehlo.select %25, %10, %26 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xi1>, tensor<5xf32>
      %28 = "stablehlo.select_and_scatter"(%6, %27, %arg5) <{window_dimensions = array<i64: 4>, window_strides = array<i64: 2>}> ({
      ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
        %30 = stablehlo.compare GE, %arg6, %arg7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %30 : tensor<i1>
      }, {
      ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
        %30 = stablehlo.add %arg6, %arg7 : tensor<f32>
        stablehlo.return %30 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<12xf32>, tensor<5xf32>, tensor<f32>) -> tensor<12xf32>
      %29 = stablehlo.slice %28 [2:10] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<12xf32>) -> tensor<8xf32>
      sdy.return %29 : tensor<8xf32>
    } {shardwise.made} : (tensor<16xf32>, tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
    return %1 : tensor<16xf32>
  }
}
