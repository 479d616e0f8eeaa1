// The position of a device along an axis, by arithmetic on its number.
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
  func.func public @main(%arg0: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg1: tensor<4x2xi32>) {
      %1 = stablehlo.partition_id {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<ui32>
      %3 = stablehlo.divide %1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %4 = stablehlo.remainder %3, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %5 = stablehlo.convert %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<ui32>) -> tensor<i32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<4x2xi32>
      %7 = stablehlo.add %arg1, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x2xi32>
      sdy.return %7 : tensor<4x2xi32>
    } : (tensor<8x4xi32>) -> tensor<8x4xi32>
    return %0 : tensor<8x4xi32>
  }
}
// after
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x", "y"} (%arg1: tensor<4x2xi32>) {
      %1 = stablehlo.partition_id {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<ui32>
      %3 = stablehlo.divide %1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %4 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %5 = stablehlo.convert %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>) -> tensor<ui32>
      %6 = stablehlo.convert %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<ui32>) -> tensor<i32>
      %7 = stablehlo.broadcast_in_dim %6, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<4x2xi32>
      %8 = stablehlo.add %arg1, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x2xi32>
      sdy.return %8 : tensor<4x2xi32>
    } : (tensor<8x4xi32>) -> tensor<8x4xi32>
    return %0 : tensor<8x4xi32>
  }
}
