// Holes between elements are made on each device.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %v: tensor<f32>) -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.pad %a, %v, low = [3], high = [-2], interior = [1] : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.pad %arg0, %arg1, low = [3], high = [-2], interior = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
    return %0 : tensor<32xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<4xf32>, %arg3: tensor<f32>) {
      %1 = stablehlo.slice %arg2 [3:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>) -> tensor<1xf32>
      %2 = "stablehlo.collective_permute"(%1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64} : (tensor<1xf32>) -> tensor<1xf32>
      %3 = stablehlo.slice %arg2 [0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>) -> tensor<3xf32>
      %4 = stablehlo.concatenate %2, %3, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
      %5 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
      %6 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %7 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<4> : tensor<i32>
      %8 = stablehlo.multiply %6, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %9 = stablehlo.add %5, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %10 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %11 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<16> : tensor<i32>
      %12 = stablehlo.subtract %10, %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %13 = stablehlo.subtract %11, %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %14 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi32>
      %15 = stablehlo.broadcast_in_dim %12, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
      %16 = stablehlo.broadcast_in_dim %13, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
      %17 = stablehlo.compare GE, %14, %15, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %18 = stablehlo.compare LT, %14, %16, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %19 = stablehlo.and %17, %18 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>
      %20 = stablehlo.broadcast_in_dim %arg3, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<f32>) -> tensor<4xf32>
      %21 = stablehlo.select %19, %4, %20 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>, tensor<4xf32>
      %22 = stablehlo.pad %21, %arg3, low = [1], high = [0], interior = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
      sdy.return %22 : tensor<8xf32>
    } {shardwise.made} : (tensor<16xf32>, tensor<f32>) -> tensor<32xf32>
    return %0 : tensor<32xf32>
  }
}
