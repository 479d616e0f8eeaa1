// The two halves of an array become thirds. One permute moves boxes of four and of two rows.
sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main(%a: tensor<12x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<12x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  return %a : tensor<12x64xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=3]>
  func.func public @main(%arg0: tensor<12x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<12x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    %0 = shardwise.exchange %arg0 out_sharding=<@mesh, [{"y"}, {}]> : tensor<12x64xf32>
    return %0 : tensor<12x64xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=3]>
  func.func public @main(%arg0: tensor<12x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<12x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"y"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<6x64xf32>) {
      %1 = shardwise.axis_index <@mesh, {"x", "y"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[4, 4, 4, 4, 0, 4]> : tensor<6xi64>
      %3 = stablehlo.dynamic_slice %2, %1, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %4 = stablehlo.convert %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %5 = stablehlo.reshape %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %7 = stablehlo.dynamic_slice %arg1, %5, %6, sizes = [2, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64xf32>
      %8 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 0, 0, 2, 0]> : tensor<6xi64>
      %9 = stablehlo.dynamic_slice %8, %1, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %10 = stablehlo.convert %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %11 = stablehlo.reshape %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %12 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %13 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} dense<0.000000e+00> : tensor<2x64xf32>
      %14 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %15 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 2, 0, 0, 2, 0]> : tensor<6xi64>
      %16 = stablehlo.dynamic_slice %15, %1, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %17 = stablehlo.convert %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %18 = stablehlo.reshape %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %19 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi32>
      %20 = stablehlo.broadcast_in_dim %14, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<2x64xi32>
      %21 = stablehlo.broadcast_in_dim %18, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<2x64xi32>
      %22 = stablehlo.compare GE, %19, %20, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x64xi32>, tensor<2x64xi32>) -> tensor<2x64xi1>
      %23 = stablehlo.compare LT, %19, %21, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x64xi32>, tensor<2x64xi32>) -> tensor<2x64xi1>
      %24 = stablehlo.and %22, %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi1>
      %25 = stablehlo.select %24, %7, %13 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi1>, tensor<2x64xf32>
      %26 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} dense<0.000000e+00> : tensor<4x64xf32>
      %27 = stablehlo.dynamic_update_slice %26, %25, %11, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<2x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
      %28 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 0, 0, 0, 2]> : tensor<6xi64>
      %29 = stablehlo.dynamic_slice %28, %1, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %30 = stablehlo.convert %29 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %31 = stablehlo.reshape %30 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %32 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %33 = stablehlo.dynamic_slice %arg1, %31, %32, sizes = [4, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
      %34 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %35 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %36 = stablehlo.dynamic_slice %27, %34, %35, sizes = [4, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
      %37 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %38 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[4, 0, 0, 0, 0, 4]> : tensor<6xi64>
      %39 = stablehlo.dynamic_slice %38, %1, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %40 = stablehlo.convert %39 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %41 = stablehlo.reshape %40 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %42 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x64xi32>
      %43 = stablehlo.broadcast_in_dim %37, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<4x64xi32>
      %44 = stablehlo.broadcast_in_dim %41, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<4x64xi32>
      %45 = stablehlo.compare GE, %42, %43, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
      %46 = stablehlo.compare LT, %42, %44, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
      %47 = stablehlo.and %45, %46 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x64xi1>
      %48 = stablehlo.select %47, %33, %36 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x64xi1>, tensor<4x64xf32>
      %49 = stablehlo.dynamic_update_slice %27, %48, %34, %35 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<4x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
      %50 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 2, 0, 0, 2, 0]> : tensor<6xi64>
      %51 = stablehlo.dynamic_slice %50, %1, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %52 = stablehlo.convert %51 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %53 = stablehlo.reshape %52 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %54 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %55 = stablehlo.dynamic_slice %arg1, %53, %54, sizes = [4, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
      %56 = "stablehlo.collective_permute"(%55) <{source_target_pairs = dense<[[0, 3], [1, 4], [3, 1], [4, 2]]> : tensor<4x2xi64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>} : (tensor<4x64xf32>) -> tensor<4x64xf32>
      %57 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %58 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %59 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
      %60 = stablehlo.pad %56, %59, low = [4, 0], high = [4, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<f32>) -> tensor<12x64xf32>
      %61 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[2, 2, 4, 4, 6, 2]> : tensor<6xi64>
      %62 = stablehlo.dynamic_slice %61, %1, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %63 = stablehlo.convert %62 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %64 = stablehlo.reshape %63 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %65 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %66 = stablehlo.dynamic_slice %60, %64, %65, sizes = [4, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<12x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
      %67 = stablehlo.dynamic_slice %49, %57, %58, sizes = [4, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
      %68 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 2, 0, 0, 0, 0]> : tensor<6xi64>
      %69 = stablehlo.dynamic_slice %68, %1, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %70 = stablehlo.convert %69 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %71 = stablehlo.reshape %70 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %72 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 4, 4, 4, 2, 0]> : tensor<6xi64>
      %73 = stablehlo.dynamic_slice %72, %1, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %74 = stablehlo.convert %73 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %75 = stablehlo.reshape %74 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %76 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x64xi32>
      %77 = stablehlo.broadcast_in_dim %71, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<4x64xi32>
      %78 = stablehlo.broadcast_in_dim %75, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<4x64xi32>
      %79 = stablehlo.compare GE, %76, %77, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
      %80 = stablehlo.compare LT, %76, %78, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
      %81 = stablehlo.and %79, %80 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x64xi1>
      %82 = stablehlo.select %81, %66, %67 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x64xi1>, tensor<4x64xf32>
      %83 = stablehlo.dynamic_update_slice %49, %82, %57, %58 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<4x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
      sdy.return %83 : tensor<4x64xf32>
    } {shardwise.made} : (tensor<12x64xf32>) -> tensor<12x64xf32>
    return %0 : tensor<12x64xf32>
  }
}
