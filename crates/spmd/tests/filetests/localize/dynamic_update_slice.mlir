// The update of a split dimension is written where it meets the shard.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %u: tensor<2xf32>, %i: tensor<i32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg2: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<8xf32>}, %arg1: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, shardwise.global_type = tensor<2xf32>}, %arg2: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<i32>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<8xf32>}) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [2], high = [2], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<i64>
    %3 = stablehlo.constant dense<0> : tensor<i64>
    %4 = stablehlo.constant dense<6> : tensor<i64>
    %5 = stablehlo.maximum %2, %3 : tensor<i64>
    %6 = stablehlo.minimum %5, %4 : tensor<i64>
    %7 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %8 = stablehlo.convert %7 : (tensor<i32>) -> tensor<i64>
    %9 = stablehlo.constant dense<4> : tensor<i64>
    %10 = stablehlo.multiply %8, %9 : tensor<i64>
    %11 = stablehlo.subtract %6, %10 : tensor<i64>
    %12 = stablehlo.constant dense<2> : tensor<i64>
    %13 = stablehlo.add %11, %12 : tensor<i64>
    %14 = stablehlo.dynamic_update_slice %1, %arg1, %13 : (tensor<8xf32>, tensor<2xf32>, tensor<i64>) -> tensor<8xf32>
    %15 = stablehlo.slice %14 [2:6] : (tensor<8xf32>) -> tensor<4xf32>
    return %15 : tensor<4xf32>
  }
}
