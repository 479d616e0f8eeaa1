// In a loop. The initial value is a broadcast constant from outside of it.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %v = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<f32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<16xf32>
   cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = "stablehlo.reduce_window"(%x, %v) <{window_dimensions = array<i64: 16>, padding = dense<[[15, 0]]> : tensor<1x2xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %3 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<16xf32>
  }
  return %0#1 : tensor<16xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<f32>) -> tensor<f32>
    %3:2 = stablehlo.while(%arg1 = %0, %arg2 = %arg0) : tensor<i32>, tensor<16xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}]>]>}
    cond {
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
      %5 = stablehlo.compare LT, %arg1, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %5 = stablehlo.add %arg1, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = "stablehlo.reduce_window"(%arg2, %2) <{padding = dense<[[15, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 16>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %7 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %7 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
      stablehlo.return %5, %6 : tensor<i32>, tensor<16xf32>
    }
    return %3#1 : tensor<16xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<f32>) -> tensor<f32>
    %3:2 = stablehlo.while(%arg1 = %0, %arg2 = %arg0) : tensor<i32>, tensor<16xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}]>]>}
    cond {
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
      %5 = stablehlo.compare LT, %arg1, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %5 = stablehlo.add %arg1, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = sdy.manual_computation(%arg2, %2) in_shardings=[<@mesh, [{"x"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg3: tensor<4xf32>, %arg4: tensor<f32>) {
        %7 = "stablehlo.reduce_window"(%arg3, %arg4) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 4>}> ({
        ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
          %23 = stablehlo.add %arg5, %arg6 : tensor<f32>
          stablehlo.return %23 : tensor<f32>
        }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
        %8 = "stablehlo.all_gather"(%7) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xf32>) -> tensor<4xf32>
        %9 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
        %10 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %11 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
        %12 = stablehlo.multiply %10, %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %13 = stablehlo.add %9, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %14 = stablehlo.broadcast_in_dim %13, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
        %15 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi32>
        %16 = stablehlo.compare LE, %15, %14, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
        %17 = stablehlo.broadcast_in_dim %arg4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<f32>) -> tensor<4xf32>
        %18 = stablehlo.select %16, %8, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>, tensor<4xf32>
        %19 = "stablehlo.reduce_window"(%18, %arg4) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 4>}> ({
        ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
          %23 = stablehlo.add %arg5, %arg6 : tensor<f32>
          stablehlo.return %23 : tensor<f32>
        }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
        %20 = stablehlo.concatenate %19, %arg3, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xf32>, tensor<4xf32>) -> tensor<5xf32>
        %21 = "stablehlo.reduce_window"(%20, %arg4) <{padding = dense<[[4, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 5>}> ({
        ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
          %23 = stablehlo.add %arg5, %arg6 : tensor<f32>
          stablehlo.return %23 : tensor<f32>
        }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
        %22 = stablehlo.slice %21 [1:5] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<5xf32>) -> tensor<4xf32>
        sdy.return %22 : tensor<4xf32>
      } {shardwise.made} : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
      stablehlo.return %5, %6 : tensor<i32>, tensor<16xf32>
    }
    return %3#1 : tensor<16xf32>
  }
}
