// One row of a matrix that is split along the rows: the device that has it gives it to all.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<i32>, %j: tensor<i32>) -> (tensor<1x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [1, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}, %arg2: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<1x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg2, sizes = [1, 4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<1x4xf32>
    return %1 : tensor<1x4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<8x4xf32>}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<i32>}, %arg2: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<i32>}) -> (tensor<1x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, shardwise.global_type = tensor<1x4xf32>}) {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<i64>
    %1 = stablehlo.constant dense<0> : tensor<i64>
    %2 = stablehlo.constant dense<7> : tensor<i64>
    %3 = stablehlo.maximum %0, %1 : tensor<i64>
    %4 = stablehlo.minimum %3, %2 : tensor<i64>
    %5 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %6 = stablehlo.convert %5 : (tensor<i32>) -> tensor<i64>
    %7 = stablehlo.constant dense<4> : tensor<i64>
    %8 = stablehlo.multiply %6, %7 : tensor<i64>
    %9 = stablehlo.subtract %4, %8 : tensor<i64>
    %10 = stablehlo.constant dense<0> : tensor<i64>
    %11 = stablehlo.dynamic_slice %arg0, %9, %10, sizes = [1, 4] : (tensor<4x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>
    %12 = stablehlo.constant dense<0> : tensor<i64>
    %13 = stablehlo.constant dense<4> : tensor<i64>
    %14 = stablehlo.compare GE, %9, %12, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %15 = stablehlo.compare LT, %9, %13, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %16 = stablehlo.and %14, %15 : tensor<i1>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<i1>) -> tensor<1x4xi1>
    %18 = stablehlo.constant dense<-0.000000e+00> : tensor<1x4xf32>
    %19 = stablehlo.select %17, %11, %18 : tensor<1x4xi1>, tensor<1x4xf32>
    %20 = "stablehlo.all_reduce"(%19) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %21 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %21 : tensor<f32>
    }) : (tensor<1x4xf32>) -> tensor<1x4xf32>
    return %20 : tensor<1x4xf32>
  }
}
