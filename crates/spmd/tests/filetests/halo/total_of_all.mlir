// Each window contains all elements before it and after it.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %v = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %v) <{window_dimensions = array<i64: 15>, padding = dense<[[7, 7]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<7> : tensor<1x2xi64>, window_dimensions = array<i64: 15>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = sdy.manual_computation(%arg0, %0) in_shardings=[<@mesh, [{"x"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<2xf32>, %arg2: tensor<f32>) {
      %2 = "stablehlo.reduce_window"(%arg1, %arg2) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %7 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %7 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>
      %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xf32>) -> tensor<4xf32>
      %4 = "stablehlo.reduce_window"(%3, %arg2) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 4>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %7 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %7 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
      %5 = stablehlo.concatenate %4, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xf32>) -> tensor<1xf32>
      %6 = "stablehlo.reduce_window"(%5, %arg2) <{padding = dense<1> : tensor<1x2xi64>, window_dimensions = array<i64: 2>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %7 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %7 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
      sdy.return %6 : tensor<2xf32>
    } {shardwise.made} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
