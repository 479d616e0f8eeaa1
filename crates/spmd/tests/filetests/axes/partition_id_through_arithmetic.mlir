// The number of the device is read through several ops, which compute its position along "y". Only "y" is manual.
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @main(%a: tensor<4xi32>) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"y"} (%p: tensor<2xi32>) {
    %i = stablehlo.partition_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %four = stablehlo.constant dense<4> : tensor<ui32>
    %d = stablehlo.divide %i, %two : tensor<ui32>
    %c = stablehlo.convert %d : (tensor<ui32>) -> tensor<i32>
    %n = stablehlo.constant dense<2> : tensor<i32>
    %y = stablehlo.remainder %c, %n : tensor<i32>
    %e = stablehlo.remainder %i, %four : tensor<ui32>
    %f = stablehlo.divide %e, %two : tensor<ui32>
    %g = stablehlo.and %i, %two : tensor<ui32>
    %h = stablehlo.add %f, %g : tensor<ui32>
    %k = stablehlo.convert %h : (tensor<ui32>) -> tensor<i32>
    %s = stablehlo.add %y, %k : tensor<i32>
    %t = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %r = stablehlo.add %p, %t : tensor<2xi32>
    sdy.return %r : tensor<2xi32>
  } : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
  func.func public @main(%arg0: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"y"} (%arg1: tensor<2xi32>) {
      %1 = stablehlo.partition_id {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<ui32>
      %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<4> : tensor<ui32>
      %4 = stablehlo.divide %1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %5 = stablehlo.convert %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<ui32>) -> tensor<i32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
      %7 = stablehlo.remainder %5, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %8 = stablehlo.remainder %1, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %9 = stablehlo.divide %8, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %10 = stablehlo.and %1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %11 = stablehlo.add %9, %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %12 = stablehlo.convert %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<ui32>) -> tensor<i32>
      %13 = stablehlo.add %7, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %14 = stablehlo.broadcast_in_dim %13, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<2xi32>
      %15 = stablehlo.add %arg1, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<2xi32>
      sdy.return %15 : tensor<2xi32>
    } : (tensor<4xi32>) -> tensor<4xi32>
    return %0 : tensor<4xi32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
  func.func public @main(%arg0: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"y"} (%arg1: tensor<2xi32>) {
      %1 = stablehlo.partition_id {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<ui32>
      %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<4> : tensor<ui32>
      %4 = shardwise.axis_index <@mesh, {"x", "y"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %5 = stablehlo.convert %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>) -> tensor<ui32>
      %6 = stablehlo.convert %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<ui32>) -> tensor<i32>
      %7 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
      %8 = shardwise.axis_index <@mesh, {"y"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %9 = shardwise.axis_index <@mesh, {"y", "z"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %10 = stablehlo.convert %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>) -> tensor<ui32>
      %11 = stablehlo.divide %10, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %12 = stablehlo.and %1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %13 = stablehlo.add %11, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<ui32>
      %14 = stablehlo.convert %13 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<ui32>) -> tensor<i32>
      %15 = stablehlo.add %8, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %16 = stablehlo.broadcast_in_dim %15, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<2xi32>
      %17 = stablehlo.add %arg1, %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<2xi32>
      sdy.return %17 : tensor<2xi32>
    } : (tensor<4xi32>) -> tensor<4xi32>
    return %0 : tensor<4xi32>
  }
}
