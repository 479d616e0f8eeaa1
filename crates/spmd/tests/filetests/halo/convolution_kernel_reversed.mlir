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
    %0 = sdy.all_slice [{}, {}, {"y"}] %arg0 out_sharding=<@mesh, [{}, {"x"}, {"y"}]> : tensor<3x16x2xf32>
    %1 = sdy.all_slice [{}, {"y"}, {}] %arg1 out_sharding=<@mesh, [{"x"}, {"y"}, {}]> : tensor<16x2x5xf32>
    %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}], unreduced={"x", "y"}>]>} : (tensor<3x16x2xf32>, tensor<16x2x5xf32>) -> tensor<3x3x5xf32>
    %3 = sdy.all_reduce {"x", "y"} %2 out_sharding=<@mesh, [{}, {}, {}]> : tensor<3x3x5xf32>
    return %3 : tensor<3x3x5xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<3x16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<16x2x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<3x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
    %0 = sdy.all_slice [{}, {}, {"y"}] %arg0 out_sharding=<@mesh, [{}, {"x"}, {"y"}]> : tensor<3x16x2xf32>
    %1 = sdy.all_slice [{}, {"y"}, {}] %arg1 out_sharding=<@mesh, [{"x"}, {"y"}, {}]> : tensor<16x2x5xf32>
    %2 = sdy.manual_computation(%0, %1) in_shardings=[<@mesh, [{}, {"x"}, {"y"}]>, <@mesh, [{"x"}, {"y"}, {}]>] out_shardings=[<@mesh, [{}, {}, {}], unreduced={"x", "y"}>] manual_axes={"x"} (%arg2: tensor<3x4x2xf32>, %arg3: tensor<4x2x5xf32>) {
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} dense<0.000000e+00> : tensor<3x6x2xf32>
      %5 = shardwise.axis_index <@mesh, {"x"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[3, 3, 0, 3]> : tensor<4xi64>
      %7 = stablehlo.dynamic_slice %6, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %8 = stablehlo.convert %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %9 = stablehlo.reshape %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %10 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %11 = stablehlo.dynamic_slice %arg2, %10, %9, %10, sizes = [3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x4x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x1x2xf32>
      %12 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %13 = stablehlo.pad %11, %12, low = [0, 6, 0], high = [0, 6, 0], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x1x2xf32>, tensor<f32>) -> tensor<3x13x2xf32>
      %14 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[6, 6, 1, 6]> : tensor<4xi64>
      %15 = stablehlo.dynamic_slice %14, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %16 = stablehlo.convert %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %17 = stablehlo.reshape %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %18 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %19 = stablehlo.dynamic_slice %13, %18, %17, %18, sizes = [3, 6, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x13x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x6x2xf32>
      %20 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 5, 0]> : tensor<4xi64>
      %21 = stablehlo.dynamic_slice %20, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %22 = stablehlo.convert %21 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %23 = stablehlo.reshape %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %24 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 1, 6, 0]> : tensor<4xi64>
      %25 = stablehlo.dynamic_slice %24, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %26 = stablehlo.convert %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %27 = stablehlo.reshape %26 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %28 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : tensor<3x6x2xi32>
      %29 = stablehlo.broadcast_in_dim %23, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %30 = stablehlo.broadcast_in_dim %27, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %31 = stablehlo.compare GE, %28, %29, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %32 = stablehlo.compare LT, %28, %30, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %33 = stablehlo.and %31, %32 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : tensor<3x6x2xi1>
      %34 = stablehlo.select %33, %19, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : tensor<3x6x2xi1>, tensor<3x6x2xf32>
      %35 = "stablehlo.collective_permute"(%arg2) <{source_target_pairs = dense<[[0, 3], [1, 2], [2, 1], [3, 0]]> : tensor<4x2xi64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
      %36 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %37 = stablehlo.pad %35, %36, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x4x2xf32>, tensor<f32>) -> tensor<3x6x2xf32>
      %38 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %39 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<5> : tensor<i32>
      %40 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : tensor<3x6x2xi32>
      %41 = stablehlo.broadcast_in_dim %38, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %42 = stablehlo.broadcast_in_dim %39, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %43 = stablehlo.compare GE, %40, %41, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %44 = stablehlo.compare LT, %40, %42, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %45 = stablehlo.and %43, %44 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : tensor<3x6x2xi1>
      %46 = stablehlo.select %45, %37, %34 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : tensor<3x6x2xi1>, tensor<3x6x2xf32>
      %47 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[3, 0, 3, 0]> : tensor<4xi64>
      %48 = stablehlo.dynamic_slice %47, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %49 = stablehlo.convert %48 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %50 = stablehlo.reshape %49 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %51 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %52 = stablehlo.dynamic_slice %arg2, %51, %50, %51, sizes = [3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x4x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x1x2xf32>
      %53 = "stablehlo.collective_permute"(%52) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 2 : i64, shardwise.wraps} : (tensor<3x1x2xf32>) -> tensor<3x1x2xf32>
      %54 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %55 = stablehlo.pad %53, %54, low = [0, 6, 0], high = [0, 6, 0], interior = [0, 0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x1x2xf32>, tensor<f32>) -> tensor<3x13x2xf32>
      %56 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[6, 1, 6, 1]> : tensor<4xi64>
      %57 = stablehlo.dynamic_slice %56, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %58 = stablehlo.convert %57 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %59 = stablehlo.reshape %58 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %60 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %61 = stablehlo.dynamic_slice %55, %60, %59, %60, sizes = [3, 6, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x13x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x6x2xf32>
      %62 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 5, 0, 5]> : tensor<4xi64>
      %63 = stablehlo.dynamic_slice %62, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %64 = stablehlo.convert %63 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %65 = stablehlo.reshape %64 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %66 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[1, 6, 1, 6]> : tensor<4xi64>
      %67 = stablehlo.dynamic_slice %66, %5, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<4xi64>, tensor<i32>) -> tensor<1xi64>
      %68 = stablehlo.convert %67 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %69 = stablehlo.reshape %68 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %70 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : tensor<3x6x2xi32>
      %71 = stablehlo.broadcast_in_dim %65, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %72 = stablehlo.broadcast_in_dim %69, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<i32>) -> tensor<3x6x2xi32>
      %73 = stablehlo.compare GE, %70, %71, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %74 = stablehlo.compare LT, %70, %72, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : (tensor<3x6x2xi32>, tensor<3x6x2xi32>) -> tensor<3x6x2xi1>
      %75 = stablehlo.and %73, %74 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : tensor<3x6x2xi1>
      %76 = stablehlo.select %75, %61, %46 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"y"}]>]>} : tensor<3x6x2xi1>, tensor<3x6x2xf32>
      %77 = stablehlo.convolution(%76, %arg3) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}], unreduced={"y"}>]>} : (tensor<3x6x2xf32>, tensor<4x2x5xf32>) -> tensor<3x3x5xf32>
      sdy.return %77 : tensor<3x3x5xf32>
    } {shardwise.made} : (tensor<3x16x2xf32>, tensor<16x2x5xf32>) -> tensor<3x3x5xf32>
    %3 = sdy.all_reduce {"x", "y"} %2 out_sharding=<@mesh, [{}, {}, {}]> : tensor<3x3x5xf32>
    return %3 : tensor<3x3x5xf32>
  }
}
