// Several rows, which may be on two devices: each takes its part from a block with a margin.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<ui64>, %j: tensor<ui64>) -> (tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [3, 4] : (tensor<8x4xf32>, tensor<ui64>, tensor<ui64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<ui64> {sdy.sharding = #sdy.sharding<@mesh, []>}, %arg2: tensor<ui64> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg2, sizes = [3, 4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<8x4xf32>, tensor<ui64>, tensor<ui64>) -> tensor<3x4xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<3x4xf32>
    return %1 : tensor<3x4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<8x4xf32>}, %arg1: tensor<ui64> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<ui64>}, %arg2: tensor<ui64> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<ui64>}) -> (tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, shardwise.global_type = tensor<3x4xf32>}) {
    %0 = stablehlo.constant dense<5> : tensor<ui64>
    %1 = stablehlo.minimum %arg1, %0 : tensor<ui64>
    %2 = stablehlo.convert %1 : (tensor<ui64>) -> tensor<i64>
    %3 = stablehlo.constant dense<0> : tensor<i64>
    %4 = stablehlo.constant dense<5> : tensor<i64>
    %5 = stablehlo.maximum %2, %3 : tensor<i64>
    %6 = stablehlo.minimum %5, %4 : tensor<i64>
    %7 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %8 = stablehlo.convert %7 : (tensor<i32>) -> tensor<i64>
    %9 = stablehlo.constant dense<4> : tensor<i64>
    %10 = stablehlo.multiply %8, %9 : tensor<i64>
    %11 = stablehlo.subtract %6, %10 : tensor<i64>
    %12 = stablehlo.constant dense<0> : tensor<i64>
    %13 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %14 = stablehlo.pad %arg0, %13, low = [3, 0], high = [3, 0], interior = [0, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<10x4xf32>
    %15 = stablehlo.constant dense<3> : tensor<i64>
    %16 = stablehlo.add %11, %15 : tensor<i64>
    %17 = stablehlo.constant dense<0> : tensor<i64>
    %18 = stablehlo.add %12, %17 : tensor<i64>
    %19 = stablehlo.dynamic_slice %14, %16, %18, sizes = [3, 4] : (tensor<10x4xf32>, tensor<i64>, tensor<i64>) -> tensor<3x4xf32>
    %20 = "stablehlo.all_reduce"(%19) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %21 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %21 : tensor<f32>
    }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    return %20 : tensor<3x4xf32>
  }
}
