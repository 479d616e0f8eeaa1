// A position along an axis varies along this axis.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x4xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%b: tensor<4x2xi32>) {
    %1 = stablehlo.partition_id : tensor<ui32>
    %c = stablehlo.constant dense<2> : tensor<ui32>
    %2 = stablehlo.divide %1, %c : tensor<ui32>
    %3 = stablehlo.remainder %2, %c : tensor<ui32>
    %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
    %6 = stablehlo.add %b, %5 : tensor<4x2xi32>
    sdy.return %6 : tensor<4x2xi32>
  } : (tensor<8x4xi32>) -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}
}
// ---- expected
// before
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>, shardwise.global_type = tensor<8x4xi32>}) -> (tensor<4x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>, shardwise.global_type = tensor<8x4xi32>}) {
    %0 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
    %2 = stablehlo.add %arg0, %1 : tensor<4x2xi32>
    return %2 : tensor<4x2xi32>
  }
}
// after
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>, shardwise.global_type = tensor<8x4xi32>, shardwise.varying = "{x,y}"}) -> (tensor<4x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>, shardwise.global_type = tensor<8x4xi32>}) {
    %0 = shardwise.axis_index <@mesh, {"x"}> {shardwise.varying = ["{x}"]} : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] {shardwise.varying = ["{x}"]} : (tensor<i32>) -> tensor<4x2xi32>
    %2 = stablehlo.add %arg0, %1 {shardwise.varying = ["{x,y}"]} : tensor<4x2xi32>
    return %2 : tensor<4x2xi32>
  }
}
