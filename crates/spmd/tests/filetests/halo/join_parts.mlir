// Parts of two operands: the even and the odd blocks.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %a [3:8] : (tensor<16xf32>) -> tensor<5xf32>
  %1 = stablehlo.slice %a [12:15] : (tensor<16xf32>) -> tensor<3xf32>
  %2 = stablehlo.slice %b [1:8] : (tensor<8xf32>) -> tensor<7xf32>
  %3 = stablehlo.concatenate %0, %2, %1, dim = 0 : (tensor<5xf32>, tensor<7xf32>, tensor<3xf32>) -> tensor<15xf32>
  return %3 : tensor<15xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = "shardwise.join"(%arg0, %arg1) <{dimension = 0 : i64, parts = array<i64: 0, 3, 5, 1, 1, 7, 0, 12, 3>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<16xf32>, tensor<8xf32>) -> tensor<15xf32>
    return %0 : tensor<15xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<4xf32>, %arg3: tensor<2xf32>) {
      %2 = stablehlo.slice %arg2 [3:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>) -> tensor<1xf32>
      %3 = stablehlo.slice %arg2 [0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xf32>) -> tensor<3xf32>
      %4 = "stablehlo.collective_permute"(%3) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = -1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
      %5 = stablehlo.concatenate %2, %4, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %7 = stablehlo.pad %arg3, %6, low = [4], high = [4], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<2xf32>, tensor<f32>) -> tensor<10xf32>
      %8 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %9 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[2, 2, 4, 2]> : tensor<4xi64>
      %10 = stablehlo.dynamic_slice %9, %8, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %11 = stablehlo.convert %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %12 = stablehlo.reshape %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %13 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %14 = stablehlo.dynamic_slice %7, %12, sizes = [4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<10xf32>, tensor<i32>) -> tensor<4xf32>
      %15 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 2, 0, 0]> : tensor<4xi64>
      %16 = stablehlo.dynamic_slice %15, %8, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %17 = stablehlo.convert %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %18 = stablehlo.reshape %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %19 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 4, 2, 0]> : tensor<4xi64>
      %20 = stablehlo.dynamic_slice %19, %8, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %21 = stablehlo.convert %20 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %22 = stablehlo.reshape %21 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %23 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi32>
      %24 = stablehlo.broadcast_in_dim %18, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
      %25 = stablehlo.broadcast_in_dim %22, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
      %26 = stablehlo.compare GE, %23, %24, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %27 = stablehlo.compare LT, %23, %25, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %28 = stablehlo.and %26, %27 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>
      %29 = stablehlo.select %28, %14, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>, tensor<4xf32>
      %30 = "stablehlo.collective_permute"(%arg3) <{source_target_pairs = dense<[[0, 1], [3, 2]]> : tensor<2x2xi64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<2xf32>) -> tensor<2xf32>
      %31 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %32 = stablehlo.pad %30, %31, low = [4], high = [4], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<2xf32>, tensor<f32>) -> tensor<10xf32>
      %33 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[4, 4, 2, 4]> : tensor<4xi64>
      %34 = stablehlo.dynamic_slice %33, %8, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %35 = stablehlo.convert %34 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %36 = stablehlo.reshape %35 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %37 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %38 = stablehlo.dynamic_slice %32, %36, sizes = [4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<10xf32>, tensor<i32>) -> tensor<4xf32>
      %39 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 1, 2, 0]> : tensor<4xi64>
      %40 = stablehlo.dynamic_slice %39, %8, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %41 = stablehlo.convert %40 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %42 = stablehlo.reshape %41 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %43 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 2, 4, 0]> : tensor<4xi64>
      %44 = stablehlo.dynamic_slice %43, %8, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %45 = stablehlo.convert %44 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %46 = stablehlo.reshape %45 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %47 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi32>
      %48 = stablehlo.broadcast_in_dim %42, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
      %49 = stablehlo.broadcast_in_dim %46, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
      %50 = stablehlo.compare GE, %47, %48, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %51 = stablehlo.compare LT, %47, %49, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %52 = stablehlo.and %50, %51 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>
      %53 = stablehlo.select %52, %38, %29 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>, tensor<4xf32>
      %54 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %55 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<4> : tensor<i32>
      %56 = stablehlo.multiply %8, %55 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %57 = stablehlo.add %54, %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %58 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<12> : tensor<i32>
      %59 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<15> : tensor<i32>
      %60 = stablehlo.subtract %58, %57 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %61 = stablehlo.subtract %59, %57 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %62 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi32>
      %63 = stablehlo.broadcast_in_dim %60, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
      %64 = stablehlo.broadcast_in_dim %61, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i32>) -> tensor<4xi32>
      %65 = stablehlo.compare GE, %62, %63, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %66 = stablehlo.compare LT, %62, %64, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %67 = stablehlo.and %65, %66 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>
      %68 = stablehlo.select %67, %arg2, %53 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<4xi1>, tensor<4xf32>
      sdy.return %68 : tensor<4xf32>
    } {shardwise.made} : (tensor<16xf32>, tensor<8xf32>) -> tensor<16xf32>
    %1 = "shardwise.resize"(%0) <{sizes = array<i64: 15>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<16xf32>) -> tensor<15xf32>
    return %1 : tensor<15xf32>
  }
}
