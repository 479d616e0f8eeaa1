// The last row, where the last block has padding.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<15x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.slice %a [14:15, 0:6] : (tensor<15x6xf32>) -> tensor<1x6xf32>
  return %0 : tensor<1x6xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<15x6xf32>}) -> (tensor<1x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<16x6xi64>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} dense<15> : tensor<16x6xi64>
    %2 = stablehlo.compare LT, %0, %1, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<16x6xi64>, tensor<16x6xi64>) -> tensor<16x6xi1>
    %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} dense<-0.000000e+00> : tensor<16x6xf32>
    %4 = stablehlo.select %2, %arg0, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<16x6xi1>, tensor<16x6xf32>
    %5 = stablehlo.slice %4 [14:15, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<16x6xf32>) -> tensor<1x6xf32>
    %6 = sdy.all_reduce {"x"} %5 out_sharding=<@mesh, [{}, {}]> : tensor<1x6xf32>
    return %6 : tensor<1x6xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<15x6xf32>}) -> (tensor<1x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, shardwise.global_type = tensor<1x6xf32>}) {
    %0 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.constant dense<4> : tensor<i64>
    %3 = stablehlo.multiply %1, %2 : tensor<i64>
    %4 = stablehlo.iota dim = 0 : tensor<4x6xi64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i64>) -> tensor<4x6xi64>
    %6 = stablehlo.add %4, %5 : tensor<4x6xi64>
    %7 = stablehlo.constant dense<15> : tensor<4x6xi64>
    %8 = stablehlo.compare LT, %6, %7, SIGNED : (tensor<4x6xi64>, tensor<4x6xi64>) -> tensor<4x6xi1>
    %9 = stablehlo.constant dense<-0.000000e+00> : tensor<4x6xf32>
    %10 = stablehlo.select %8, %arg0, %9 : tensor<4x6xi1>, tensor<4x6xf32>
    %11 = stablehlo.constant dense<14> : tensor<i64>
    %12 = stablehlo.constant dense<0> : tensor<i64>
    %13 = stablehlo.constant dense<0> : tensor<i64>
    %14 = stablehlo.constant dense<15> : tensor<i64>
    %15 = stablehlo.maximum %11, %13 : tensor<i64>
    %16 = stablehlo.minimum %15, %14 : tensor<i64>
    %17 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %18 = stablehlo.convert %17 : (tensor<i32>) -> tensor<i64>
    %19 = stablehlo.constant dense<4> : tensor<i64>
    %20 = stablehlo.multiply %18, %19 : tensor<i64>
    %21 = stablehlo.subtract %16, %20 : tensor<i64>
    %22 = stablehlo.constant dense<0> : tensor<i64>
    %23 = stablehlo.dynamic_slice %10, %21, %22, sizes = [1, 6] : (tensor<4x6xf32>, tensor<i64>, tensor<i64>) -> tensor<1x6xf32>
    %24 = stablehlo.constant dense<0> : tensor<i64>
    %25 = stablehlo.constant dense<4> : tensor<i64>
    %26 = stablehlo.compare GE, %21, %24, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %27 = stablehlo.compare LT, %21, %25, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %28 = stablehlo.and %26, %27 : tensor<i1>
    %29 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<i1>) -> tensor<1x6xi1>
    %30 = stablehlo.constant dense<-0.000000e+00> : tensor<1x6xf32>
    %31 = stablehlo.select %29, %23, %30 : tensor<1x6xi1>, tensor<1x6xf32>
    %32 = stablehlo.slice %31 [0:1, 0:6] : (tensor<1x6xf32>) -> tensor<1x6xf32>
    %33 = "stablehlo.all_reduce"(%32) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %34 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %34 : tensor<f32>
    }) : (tensor<1x6xf32>) -> tensor<1x6xf32>
    return %33 : tensor<1x6xf32>
  }
}
