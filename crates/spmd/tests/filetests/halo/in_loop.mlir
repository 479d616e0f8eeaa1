// In a loop, along two axes together.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %v = stablehlo.constant dense<1.0> : tensor<f32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<32xf32>
   cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.pad %x, %v, low = [2], high = [-2], interior = [0] : (tensor<32xf32>, tensor<f32>) -> tensor<32xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<32xf32>
  }
  return %0#1 : tensor<32xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1.000000e+00> : tensor<f32>
    %2:2 = stablehlo.while(%arg1 = %0, %arg2 = %arg0) : tensor<i32>, tensor<32xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x", "y"}]>]>}
    cond {
      %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
      %4 = stablehlo.compare LT, %arg1, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %4 = stablehlo.add %arg1, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %5 = stablehlo.pad %arg2, %1, low = [2], high = [-2], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", "y"}]>]>} : (tensor<32xf32>, tensor<f32>) -> tensor<32xf32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<32xf32>
    }
    return %2#1 : tensor<32xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1.000000e+00> : tensor<f32>
    %2:2 = stablehlo.while(%arg1 = %0, %arg2 = %arg0) : tensor<i32>, tensor<32xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x", "y"}]>]>}
    cond {
      %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
      %4 = stablehlo.compare LT, %arg1, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %4 = stablehlo.add %arg1, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %5 = sdy.manual_computation(%arg2, %1) in_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%arg3: tensor<4xf32>, %arg4: tensor<f32>) {
        %6 = stablehlo.slice %arg3 [2:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>) -> tensor<2xf32>
        %7 = "stablehlo.collective_permute"(%6) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>, shardwise.shift = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
        %8 = stablehlo.slice %arg3 [0:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>) -> tensor<2xf32>
        %9 = stablehlo.concatenate %7, %8, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
        %10 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-2> : tensor<i32>
        %11 = shardwise.axis_index <@mesh, {"x", "y"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %12 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<4> : tensor<i32>
        %13 = stablehlo.multiply %11, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %14 = stablehlo.add %10, %13 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %15 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
        %16 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<32> : tensor<i32>
        %17 = stablehlo.subtract %15, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %18 = stablehlo.subtract %16, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %19 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi32>
        %20 = stablehlo.broadcast_in_dim %17, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
        %21 = stablehlo.broadcast_in_dim %18, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
        %22 = stablehlo.compare GE, %19, %20, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
        %23 = stablehlo.compare LT, %19, %21, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
        %24 = stablehlo.and %22, %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>
        %25 = stablehlo.broadcast_in_dim %arg4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<f32>) -> tensor<4xf32>
        %26 = stablehlo.select %24, %9, %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>, tensor<4xf32>
        sdy.return %26 : tensor<4xf32>
      } {shardwise.made} : (tensor<32xf32>, tensor<f32>) -> tensor<32xf32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<32xf32>
    }
    return %2#1 : tensor<32xf32>
  }
}
