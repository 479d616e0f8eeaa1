// Each operand is spread over the devices that have its part of the result.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<24x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<24x4xf32>
  return %0 : tensor<24x4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<24x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<24x4xf32>
    return %0 : tensor<24x4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<24x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<2x4xf32>, %arg3: tensor<4x4xf32>) {
      %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} dense<0.000000e+00> : tensor<6x4xf32>
      %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %3 = stablehlo.pad %arg2, %2, low = [0, 0], high = [4, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<6x4xf32>
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %5 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[2, 0, 0, 0]> : tensor<4xi64>
      %7 = stablehlo.dynamic_slice %6, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %8 = stablehlo.convert %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %9 = stablehlo.reshape %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %10 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi32>
      %11 = stablehlo.broadcast_in_dim %4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x4xi32>
      %12 = stablehlo.broadcast_in_dim %9, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x4xi32>
      %13 = stablehlo.compare GE, %10, %11, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
      %14 = stablehlo.compare LT, %10, %12, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
      %15 = stablehlo.and %13, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi1>
      %16 = stablehlo.select %15, %3, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi1>, tensor<6x4xf32>
      %17 = "stablehlo.collective_permute"(%arg2) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %18 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %19 = stablehlo.pad %17, %18, low = [2, 0], high = [2, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<6x4xf32>
      %20 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[2, 0, 0, 0]> : tensor<4xi64>
      %21 = stablehlo.dynamic_slice %20, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %22 = stablehlo.convert %21 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %23 = stablehlo.reshape %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %24 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[4, 0, 0, 0]> : tensor<4xi64>
      %25 = stablehlo.dynamic_slice %24, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %26 = stablehlo.convert %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %27 = stablehlo.reshape %26 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %28 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi32>
      %29 = stablehlo.broadcast_in_dim %23, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x4xi32>
      %30 = stablehlo.broadcast_in_dim %27, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x4xi32>
      %31 = stablehlo.compare GE, %28, %29, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
      %32 = stablehlo.compare LT, %28, %30, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
      %33 = stablehlo.and %31, %32 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi1>
      %34 = stablehlo.select %33, %19, %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi1>, tensor<6x4xf32>
      %35 = "stablehlo.collective_permute"(%arg2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = -2 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %36 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %37 = stablehlo.pad %35, %36, low = [6, 0], high = [6, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<14x4xf32>
      %38 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[2, 6, 2, 2]> : tensor<4xi64>
      %39 = stablehlo.dynamic_slice %38, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %40 = stablehlo.convert %39 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %41 = stablehlo.reshape %40 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %42 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %43 = stablehlo.dynamic_slice %37, %41, %42, sizes = [6, 4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<14x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
      %44 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[4, 0, 0, 0]> : tensor<4xi64>
      %45 = stablehlo.dynamic_slice %44, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %46 = stablehlo.convert %45 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %47 = stablehlo.reshape %46 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %48 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[6, 2, 0, 0]> : tensor<4xi64>
      %49 = stablehlo.dynamic_slice %48, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %50 = stablehlo.convert %49 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %51 = stablehlo.reshape %50 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %52 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi32>
      %53 = stablehlo.broadcast_in_dim %47, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x4xi32>
      %54 = stablehlo.broadcast_in_dim %51, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x4xi32>
      %55 = stablehlo.compare GE, %52, %53, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
      %56 = stablehlo.compare LT, %52, %54, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
      %57 = stablehlo.and %55, %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi1>
      %58 = stablehlo.select %57, %43, %34 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi1>, tensor<6x4xf32>
      %59 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %60 = stablehlo.pad %arg3, %59, low = [6, 0], high = [6, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x4xf32>, tensor<f32>) -> tensor<16x4xf32>
      %61 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[2, 2, 2, 4]> : tensor<4xi64>
      %62 = stablehlo.dynamic_slice %61, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %63 = stablehlo.convert %62 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %64 = stablehlo.reshape %63 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %65 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %66 = stablehlo.dynamic_slice %60, %64, %65, sizes = [6, 4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<16x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
      %67 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 4, 2]> : tensor<4xi64>
      %68 = stablehlo.dynamic_slice %67, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %69 = stablehlo.convert %68 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %70 = stablehlo.reshape %69 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %71 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 6, 6]> : tensor<4xi64>
      %72 = stablehlo.dynamic_slice %71, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %73 = stablehlo.convert %72 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %74 = stablehlo.reshape %73 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %75 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi32>
      %76 = stablehlo.broadcast_in_dim %70, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x4xi32>
      %77 = stablehlo.broadcast_in_dim %74, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x4xi32>
      %78 = stablehlo.compare GE, %75, %76, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
      %79 = stablehlo.compare LT, %75, %77, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
      %80 = stablehlo.and %78, %79 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi1>
      %81 = stablehlo.select %80, %66, %58 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi1>, tensor<6x4xf32>
      %82 = "stablehlo.collective_permute"(%arg3) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %83 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %84 = stablehlo.pad %82, %83, low = [6, 0], high = [6, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x4xf32>, tensor<f32>) -> tensor<16x4xf32>
      %85 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[4, 4, 6, 8]> : tensor<4xi64>
      %86 = stablehlo.dynamic_slice %85, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %87 = stablehlo.convert %86 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %88 = stablehlo.reshape %87 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %89 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %90 = stablehlo.dynamic_slice %84, %88, %89, sizes = [6, 4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<16x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
      %91 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 2, 0, 0]> : tensor<4xi64>
      %92 = stablehlo.dynamic_slice %91, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %93 = stablehlo.convert %92 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %94 = stablehlo.reshape %93 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %95 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 6, 4, 2]> : tensor<4xi64>
      %96 = stablehlo.dynamic_slice %95, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %97 = stablehlo.convert %96 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %98 = stablehlo.reshape %97 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %99 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi32>
      %100 = stablehlo.broadcast_in_dim %94, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x4xi32>
      %101 = stablehlo.broadcast_in_dim %98, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<6x4xi32>
      %102 = stablehlo.compare GE, %99, %100, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
      %103 = stablehlo.compare LT, %99, %101, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x4xi32>, tensor<6x4xi32>) -> tensor<6x4xi1>
      %104 = stablehlo.and %102, %103 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi1>
      %105 = stablehlo.select %104, %90, %81 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x4xi1>, tensor<6x4xf32>
      sdy.return %105 : tensor<6x4xf32>
    } {shardwise.made} : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<24x4xf32>
    return %0 : tensor<24x4xf32>
  }
}
