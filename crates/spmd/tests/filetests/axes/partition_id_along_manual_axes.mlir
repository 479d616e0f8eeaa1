// The number of the device is only read for the position along "y", which is manual, so it may differ along "x".
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xi32>) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y","x"}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"y"} (%p: tensor<2xi32>) {
    %i = stablehlo.partition_id : tensor<ui32>
    %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>
    %n = stablehlo.constant dense<2> : tensor<i32>
    %m = stablehlo.remainder %j, %n : tensor<i32>
    %k = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %r = stablehlo.add %p, %k : tensor<2xi32>
    sdy.return %r : tensor<2xi32>
  } : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"y"} (%arg1: tensor<2xi32>) {
      %2 = stablehlo.partition_id {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %3 = stablehlo.convert %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<ui32>) -> tensor<i32>
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
      %5 = stablehlo.remainder %3, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<2xi32>
      %7 = stablehlo.add %arg1, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<2xi32>
      sdy.return %7 : tensor<2xi32>
    } : (tensor<4xi32>) -> tensor<4xi32>
    %1 = sdy.all_slice [{"x"}] %0 out_sharding=<@mesh, [{"y", "x"}]> : tensor<4xi32>
    return %1 : tensor<4xi32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"y"} (%arg1: tensor<2xi32>) {
      %2 = stablehlo.partition_id {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %3 = stablehlo.convert %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<ui32>) -> tensor<i32>
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
      %5 = shardwise.axis_index <@mesh, {"y"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<2xi32>
      %7 = stablehlo.add %arg1, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<2xi32>
      sdy.return %7 : tensor<2xi32>
    } : (tensor<4xi32>) -> tensor<4xi32>
    %1 = sdy.all_slice [{"x"}] %0 out_sharding=<@mesh, [{"y", "x"}]> : tensor<4xi32>
    return %1 : tensor<4xi32>
  }
}
