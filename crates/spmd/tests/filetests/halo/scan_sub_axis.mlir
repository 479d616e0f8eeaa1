// Along a part of an axis.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}) -> (tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}) {
  %v = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %v) <{window_dimensions = array<i64: 16>, padding = dense<[[15, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %r = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
  return %0 : tensor<16xi32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}) -> (tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[15, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 16>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(2)2}]>]>} : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    return %1 : tensor<16xi32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}) -> (tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = sdy.manual_computation(%arg0, %0) in_shardings=[<@mesh, [{"x":(2)2}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x":(2)2}]>] manual_axes={"x":(2)2} (%arg1: tensor<8xi32>, %arg2: tensor<i32>) {
      %2 = "stablehlo.reduce_window"(%arg1, %arg2) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 8>}> ({
      ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
        %18 = stablehlo.add %arg3, %arg4 : tensor<i32>
        stablehlo.return %18 : tensor<i32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xi32>, tensor<i32>) -> tensor<1xi32>
      %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (2)2>]>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi32>) -> tensor<2xi32>
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
      %5 = shardwise.axis_index <@mesh, {"x":(2)2}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %7 = stablehlo.multiply %5, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %8 = stablehlo.add %4, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %9 = stablehlo.broadcast_in_dim %8, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<2xi32>
      %10 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<2xi32>
      %11 = stablehlo.compare LE, %10, %9, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
      %12 = stablehlo.broadcast_in_dim %arg2, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<2xi32>
      %13 = stablehlo.select %11, %3, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<2xi1>, tensor<2xi32>
      %14 = "stablehlo.reduce_window"(%13, %arg2) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2>}> ({
      ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
        %18 = stablehlo.add %arg3, %arg4 : tensor<i32>
        stablehlo.return %18 : tensor<i32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<2xi32>, tensor<i32>) -> tensor<1xi32>
      %15 = stablehlo.concatenate %14, %arg1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi32>, tensor<8xi32>) -> tensor<9xi32>
      %16 = "stablehlo.reduce_window"(%15, %arg2) <{padding = dense<[[8, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 9>}> ({
      ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>):
        %18 = stablehlo.add %arg3, %arg4 : tensor<i32>
        stablehlo.return %18 : tensor<i32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<9xi32>, tensor<i32>) -> tensor<9xi32>
      %17 = stablehlo.slice %16 [1:9] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<9xi32>) -> tensor<8xi32>
      sdy.return %17 : tensor<8xi32>
    } {shardwise.made} : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    return %1 : tensor<16xi32>
  }
}
