// A reversed kernel that is split along the window: its blocks meet windows from the last to the first.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<3x16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %g: tensor<16x2x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<3x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = stablehlo.convolution(%a, %g) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]], reverse = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x16x2xf32>, tensor<16x2x5xf32>) -> tensor<3x3x5xf32>
  return %0 : tensor<3x3x5xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<3x16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<16x2x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<3x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}], unreduced={"x"}>]>} : (tensor<3x16x2xf32>, tensor<16x2x5xf32>) -> tensor<3x3x5xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}, {}]> : tensor<3x3x5xf32>
    return %1 : tensor<3x3x5xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<3x16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<16x2x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<3x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{}, {"x"}, {}]>, <@mesh, [{"x"}, {}, {}]>] out_shardings=[<@mesh, [{}, {}, {}], unreduced={"x"}>] manual_axes={"x"} (%arg2: tensor<3x4x2xf32>, %arg3: tensor<4x2x5xf32>) {
      %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} dense<0.000000e+00> : tensor<3x6x2xf32>
      %3 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[3, 3, 0, 3]> : tensor<4xi64>
      %5 = stablehlo.dynamic_slice %4, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %6 = stablehlo.convert %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %7 = stablehlo.reshape %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %8 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %9 = stablehlo.dynamic_slice %arg2, %8, %7, %8, sizes = [3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x4x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x1x2xf32>
      %10 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %11 = stablehlo.pad %9, %10, low = [0, 6, 0], high = [0, 6, 0], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x1x2xf32>, tensor<f32>) -> tensor<3x13x2xf32>
      %12 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[6, 6, 1, 6]> : tensor<4xi64>
      %13 = stablehlo.dynamic_slice %12, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %14 = stablehlo.convert %13 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %15 = stablehlo.reshape %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %16 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %17 = stablehlo.dynamic_slice %11, %16, %15, %16, sizes = [3, 6, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x13x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x6x2xf32>
      %18 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 5, 0]> : tensor<4xi64>
      %19 = stablehlo.dynamic_slice %18, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %20 = stablehlo.convert %19 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %21 = stablehlo.reshape %20 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %22 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 1, 6, 0]> : tensor<4xi64>
      %23 = stablehlo.dynamic_slice %22, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %24 = stablehlo.convert %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %25 = stablehlo.reshape %24 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %26 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : tensor<3x6x2xi32>
      %27 = stablehlo.broadcast_in_dim %21, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %28 = stablehlo.broadcast_in_dim %25, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %29 = stablehlo.compare GE, %26, %27, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %30 = stablehlo.compare LT, %26, %28, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %31 = stablehlo.and %29, %30 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : tensor<3x6x2xi1>
      %32 = stablehlo.select %31, %17, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : tensor<3x6x2xi1>, tensor<3x6x2xf32>
      %33 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[3, 0, 3, 0]> : tensor<4xi64>
      %34 = stablehlo.dynamic_slice %33, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %35 = stablehlo.convert %34 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %36 = stablehlo.reshape %35 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %37 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %38 = stablehlo.dynamic_slice %arg2, %37, %36, %37, sizes = [3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x4x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x1x2xf32>
      %39 = "stablehlo.collective_permute"(%38) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 2 : i64, shardwise.wraps} : (tensor<3x1x2xf32>) -> tensor<3x1x2xf32>
      %40 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %41 = stablehlo.pad %39, %40, low = [0, 6, 0], high = [0, 6, 0], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x1x2xf32>, tensor<f32>) -> tensor<3x13x2xf32>
      %42 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[6, 1, 6, 1]> : tensor<4xi64>
      %43 = stablehlo.dynamic_slice %42, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %44 = stablehlo.convert %43 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %45 = stablehlo.reshape %44 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %46 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %47 = stablehlo.dynamic_slice %41, %46, %45, %46, sizes = [3, 6, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x13x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x6x2xf32>
      %48 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 5, 0, 5]> : tensor<4xi64>
      %49 = stablehlo.dynamic_slice %48, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %50 = stablehlo.convert %49 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %51 = stablehlo.reshape %50 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %52 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[1, 6, 1, 6]> : tensor<4xi64>
      %53 = stablehlo.dynamic_slice %52, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %54 = stablehlo.convert %53 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %55 = stablehlo.reshape %54 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %56 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : tensor<3x6x2xi32>
      %57 = stablehlo.broadcast_in_dim %51, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %58 = stablehlo.broadcast_in_dim %55, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %59 = stablehlo.compare GE, %56, %57, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %60 = stablehlo.compare LT, %56, %58, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %61 = stablehlo.and %59, %60 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : tensor<3x6x2xi1>
      %62 = stablehlo.select %61, %47, %32 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : tensor<3x6x2xi1>, tensor<3x6x2xf32>
      %63 = "stablehlo.collective_permute"(%arg2) <{source_target_pairs = dense<[[0, 3], [1, 2], [2, 1], [3, 0]]> : tensor<4x2xi64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
      %64 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %65 = stablehlo.pad %63, %64, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x4x2xf32>, tensor<f32>) -> tensor<3x6x2xf32>
      %66 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %67 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<5> : tensor<i32>
      %68 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : tensor<3x6x2xi32>
      %69 = stablehlo.broadcast_in_dim %66, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %70 = stablehlo.broadcast_in_dim %67, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %71 = stablehlo.compare GE, %68, %69, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %72 = stablehlo.compare LT, %68, %70, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %73 = stablehlo.and %71, %72 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : tensor<3x6x2xi1>
      %74 = stablehlo.select %73, %65, %62 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : tensor<3x6x2xi1>, tensor<3x6x2xf32>
      %75 = stablehlo.convolution(%74, %arg3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<3x6x2xf32>, tensor<4x2x5xf32>) -> tensor<3x3x5xf32>
      sdy.return %75 : tensor<3x3x5xf32>
    } : (tensor<3x16x2xf32>, tensor<16x2x5xf32>) -> tensor<3x3x5xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}, {}]> : tensor<3x3x5xf32>
    return %1 : tensor<3x3x5xf32>
  }
}
