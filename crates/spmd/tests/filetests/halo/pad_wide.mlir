// The blocks of the result are larger than those of the operand.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %v: tensor<f32>) -> (tensor<20xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.pad %a, %v, low = [3], high = [1], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<20xf32>
  return %0 : tensor<20xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<20xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.pad %arg0, %arg1, low = [3], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<16xf32>, tensor<f32>) -> tensor<20xf32>
    return %0 : tensor<20xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<20xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<4xf32>, %arg3: tensor<f32>) {
      %1 = stablehlo.broadcast_in_dim %arg3, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<f32>) -> tensor<5xf32>
      %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %3 = stablehlo.pad %arg2, %2, low = [5], high = [5], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>, tensor<f32>) -> tensor<14xf32>
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
      %5 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %7 = stablehlo.multiply %5, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %8 = stablehlo.add %4, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %9 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %10 = stablehlo.dynamic_slice %3, %8, sizes = [5] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<14xf32>, tensor<i32>) -> tensor<5xf32>
      %11 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
      %12 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
      %13 = stablehlo.multiply %5, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %14 = stablehlo.add %11, %13 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %15 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[5, 5, 5, 4]> : tensor<4xi64>
      %16 = stablehlo.dynamic_slice %15, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %17 = stablehlo.convert %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %18 = stablehlo.reshape %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %19 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xi32>
      %20 = stablehlo.broadcast_in_dim %14, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<5xi32>
      %21 = stablehlo.broadcast_in_dim %18, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<5xi32>
      %22 = stablehlo.compare GE, %19, %20, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
      %23 = stablehlo.compare LT, %19, %21, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
      %24 = stablehlo.and %22, %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xi1>
      %25 = stablehlo.select %24, %10, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xi1>, tensor<5xf32>
      %26 = stablehlo.slice %arg2 [2:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>) -> tensor<2xf32>
      %27 = "stablehlo.collective_permute"(%26) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<2xf32>) -> tensor<2xf32>
      %28 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %29 = stablehlo.pad %27, %28, low = [5], high = [5], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<2xf32>, tensor<f32>) -> tensor<12xf32>
      %30 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[5, 5, 6, 5]> : tensor<4xi64>
      %31 = stablehlo.dynamic_slice %30, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %32 = stablehlo.convert %31 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %33 = stablehlo.reshape %32 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %34 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %35 = stablehlo.dynamic_slice %29, %33, sizes = [5] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<12xf32>, tensor<i32>) -> tensor<5xf32>
      %36 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %37 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 2, 1, 0]> : tensor<4xi64>
      %38 = stablehlo.dynamic_slice %37, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %39 = stablehlo.convert %38 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %40 = stablehlo.reshape %39 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %41 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xi32>
      %42 = stablehlo.broadcast_in_dim %36, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<5xi32>
      %43 = stablehlo.broadcast_in_dim %40, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<5xi32>
      %44 = stablehlo.compare GE, %41, %42, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
      %45 = stablehlo.compare LT, %41, %43, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
      %46 = stablehlo.and %44, %45 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xi1>
      %47 = stablehlo.select %46, %35, %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xi1>, tensor<5xf32>
      sdy.return %47 : tensor<5xf32>
    } {shardwise.made} : (tensor<16xf32>, tensor<f32>) -> tensor<20xf32>
    return %0 : tensor<20xf32>
  }
}
