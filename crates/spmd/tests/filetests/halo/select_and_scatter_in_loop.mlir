// In a loop, over two axes, with the batch split over a third one.
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @main(%a: tensor<2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x", "y"}]>}, %s: tensor<2x14xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x", "y"}]>}) -> (tensor<2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x", "y"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %v = stablehlo.constant dense<0.0> : tensor<f32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<2x16xf32>
   cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = "stablehlo.select_and_scatter"(%x, %s, %v) <{window_dimensions = array<i64: 1, 3>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %3 = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }, {
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %3 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<2x16xf32>, tensor<2x14xf32>, tensor<f32>) -> tensor<2x16xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<2x16xf32>
  }
  return %0#1 : tensor<2x16xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
  func.func public @main(%arg0: tensor<2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x", "y"}]>}, %arg1: tensor<2x14xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x", "y"}]>}) -> (tensor<2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x", "y"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %2:2 = stablehlo.while(%arg2 = %0, %arg3 = %arg0) : tensor<i32>, tensor<2x16xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"z"}, {"x", "y"}]>]>}
    cond {
      %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
      %4 = stablehlo.compare LT, %arg2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %4 = stablehlo.add %arg2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %5 = "stablehlo.select_and_scatter"(%arg3, %arg1, %1) <{window_dimensions = array<i64: 1, 3>}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %6 = stablehlo.compare GE, %arg4, %arg5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %6 : tensor<i1>
      }, {
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %6 = stablehlo.add %arg4, %arg5 : tensor<f32>
        stablehlo.return %6 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {"x", "y"}]>]>} : (tensor<2x16xf32>, tensor<2x14xf32>, tensor<f32>) -> tensor<2x16xf32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<2x16xf32>
    }
    return %2#1 : tensor<2x16xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
  func.func public @main(%arg0: tensor<2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x", "y"}]>}, %arg1: tensor<2x14xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x", "y"}]>}) -> (tensor<2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"x", "y"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %2:2 = stablehlo.while(%arg2 = %0, %arg3 = %arg0) : tensor<i32>, tensor<2x16xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"z"}, {"x", "y"}]>]>}
    cond {
      %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
      %4 = stablehlo.compare LT, %arg2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %4 = stablehlo.add %arg2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %5 = "shardwise.resize"(%arg1) <{sizes = array<i64: 2, 16>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {"x", "y"}]>]>} : (tensor<2x14xf32>) -> tensor<2x16xf32>
      %6 = sdy.manual_computation(%arg3, %5, %1) in_shardings=[<@mesh, [{"z"}, {"x", "y"}]>, <@mesh, [{"z"}, {"x", "y"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"z"}, {"x", "y"}]>] manual_axes={"x", "y"} (%arg4: tensor<2x4xf32>, %arg5: tensor<2x4xf32>, %arg6: tensor<f32>) {
        %7 = stablehlo.slice %arg4 [0:2, 2:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<2x4xf32>) -> tensor<2x2xf32>
        %8 = "stablehlo.collective_permute"(%7) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>, shardwise.shift = 1 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
        %9 = stablehlo.slice %arg4 [0:2, 0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<2x4xf32>) -> tensor<2x2xf32>
        %10 = "stablehlo.collective_permute"(%9) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>, shardwise.shift = -1 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
        %11 = stablehlo.concatenate %8, %arg4, %10, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<2x2xf32>, tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<2x8xf32>
        %12 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-0.000000e+00> : tensor<f32>
        %13 = stablehlo.slice %arg5 [0:2, 2:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<2x4xf32>) -> tensor<2x2xf32>
        %14 = "stablehlo.collective_permute"(%13) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>, shardwise.shift = 1 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
        %15 = stablehlo.concatenate %14, %arg5, dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x6xf32>
        %16 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-2> : tensor<i32>
        %17 = shardwise.axis_index <@mesh, {"x", "y"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %18 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<4> : tensor<i32>
        %19 = stablehlo.multiply %17, %18 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %20 = stablehlo.add %16, %19 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %21 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
        %22 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<14> : tensor<i32>
        %23 = stablehlo.subtract %21, %20 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %24 = stablehlo.subtract %22, %20 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %25 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : tensor<2x6xi32>
        %26 = stablehlo.broadcast_in_dim %23, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<i32>) -> tensor<2x6xi32>
        %27 = stablehlo.broadcast_in_dim %24, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<i32>) -> tensor<2x6xi32>
        %28 = stablehlo.compare GE, %25, %26, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi1>
        %29 = stablehlo.compare LT, %25, %27, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi1>
        %30 = stablehlo.and %28, %29 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : tensor<2x6xi1>
        %31 = stablehlo.broadcast_in_dim %12, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<f32>) -> tensor<2x6xf32>
        %32 = stablehlo.select %30, %15, %31 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : tensor<2x6xi1>, tensor<2x6xf32>
        %33 = "stablehlo.select_and_scatter"(%11, %32, %arg6) <{window_dimensions = array<i64: 1, 3>}> ({
        ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
          %35 = stablehlo.compare GE, %arg7, %arg8, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %35 : tensor<i1>
        }, {
        ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
          %35 = stablehlo.add %arg7, %arg8 : tensor<f32>
          stablehlo.return %35 : tensor<f32>
        }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<2x8xf32>, tensor<2x6xf32>, tensor<f32>) -> tensor<2x8xf32>
        %34 = stablehlo.slice %33 [0:2, 2:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {}]>]>} : (tensor<2x8xf32>) -> tensor<2x4xf32>
        sdy.return %34 : tensor<2x4xf32>
      } {shardwise.made} : (tensor<2x16xf32>, tensor<2x16xf32>, tensor<f32>) -> tensor<2x16xf32>
      stablehlo.return %4, %6 : tensor<i32>, tensor<2x16xf32>
    }
    return %2#1 : tensor<2x16xf32>
  }
}
