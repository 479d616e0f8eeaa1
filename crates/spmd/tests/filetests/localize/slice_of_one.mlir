// The last row is read by the device that has it, and all others add nothing.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.slice %a [15:16, 1:6:2] : (tensor<16x6xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.slice %arg0 [15:16, 1:6:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<16x6xf32>) -> tensor<1x3xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<1x3xf32>
    return %1 : tensor<1x3xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<16x6xf32>}) -> (tensor<1x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, shardwise.global_type = tensor<1x3xf32>}) {
    %0 = stablehlo.constant dense<15> : tensor<i64>
    %1 = stablehlo.constant dense<1> : tensor<i64>
    %2 = stablehlo.constant dense<0> : tensor<i64>
    %3 = stablehlo.constant dense<15> : tensor<i64>
    %4 = stablehlo.maximum %0, %2 : tensor<i64>
    %5 = stablehlo.minimum %4, %3 : tensor<i64>
    %6 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %7 = stablehlo.convert %6 : (tensor<i32>) -> tensor<i64>
    %8 = stablehlo.constant dense<4> : tensor<i64>
    %9 = stablehlo.multiply %7, %8 : tensor<i64>
    %10 = stablehlo.subtract %5, %9 : tensor<i64>
    %11 = stablehlo.constant dense<0> : tensor<i64>
    %12 = stablehlo.dynamic_slice %arg0, %10, %11, sizes = [1, 6] : (tensor<4x6xf32>, tensor<i64>, tensor<i64>) -> tensor<1x6xf32>
    %13 = stablehlo.constant dense<0> : tensor<i64>
    %14 = stablehlo.constant dense<4> : tensor<i64>
    %15 = stablehlo.compare GE, %10, %13, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %16 = stablehlo.compare LT, %10, %14, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %17 = stablehlo.and %15, %16 : tensor<i1>
    %18 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<i1>) -> tensor<1x6xi1>
    %19 = stablehlo.constant dense<-0.000000e+00> : tensor<1x6xf32>
    %20 = stablehlo.select %18, %12, %19 : tensor<1x6xi1>, tensor<1x6xf32>
    %21 = stablehlo.slice %20 [0:1, 1:6:2] : (tensor<1x6xf32>) -> tensor<1x3xf32>
    %22 = "stablehlo.all_reduce"(%21) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %23 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %23 : tensor<f32>
    }) : (tensor<1x3xf32>) -> tensor<1x3xf32>
    return %22 : tensor<1x3xf32>
  }
}
