// Three blocks of four elements, the last of which has padding, become two blocks of six.
sdy.mesh @mesh = <["x"=3, "y"=2]>
func.func @main(%a: tensor<11x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<11x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  return %a : tensor<11x64xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=3, "y"=2]>
  func.func public @main(%arg0: tensor<11x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<11x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    %0 = shardwise.exchange %arg0 out_sharding=<@mesh, [{"y"}, {}]> : tensor<11x64xf32>
    return %0 : tensor<11x64xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=3, "y"=2]>
  func.func public @main(%arg0: tensor<11x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<11x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    %0 = "shardwise.resize"(%arg0) <{sizes = array<i64: 12, 64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<11x64xf32>) -> tensor<12x64xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"y"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<4x64xf32>) {
      %3 = shardwise.axis_index <@mesh, {"x", "y"}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %4 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 0, 2, 0, 0]> : tensor<6xi64>
      %5 = stablehlo.dynamic_slice %4, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %6 = stablehlo.convert %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %7 = stablehlo.reshape %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %8 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %9 = stablehlo.dynamic_slice %arg1, %7, %8, sizes = [2, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64xf32>
      %10 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[4, 4, 4, 0, 4, 4]> : tensor<6xi64>
      %11 = stablehlo.dynamic_slice %10, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %12 = stablehlo.convert %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %13 = stablehlo.reshape %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %14 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %15 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} dense<0.000000e+00> : tensor<2x64xf32>
      %16 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %17 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 2, 2, 0, 0]> : tensor<6xi64>
      %18 = stablehlo.dynamic_slice %17, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %19 = stablehlo.convert %18 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %20 = stablehlo.reshape %19 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %21 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi32>
      %22 = stablehlo.broadcast_in_dim %16, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<2x64xi32>
      %23 = stablehlo.broadcast_in_dim %20, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<2x64xi32>
      %24 = stablehlo.compare GE, %21, %22, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x64xi32>, tensor<2x64xi32>) -> tensor<2x64xi1>
      %25 = stablehlo.compare LT, %21, %23, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x64xi32>, tensor<2x64xi32>) -> tensor<2x64xi1>
      %26 = stablehlo.and %24, %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi1>
      %27 = stablehlo.select %26, %9, %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi1>, tensor<2x64xf32>
      %28 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} dense<0.000000e+00> : tensor<6x64xf32>
      %29 = stablehlo.dynamic_update_slice %28, %27, %13, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<2x64xf32>, tensor<i32>, tensor<i32>) -> tensor<6x64xf32>
      %30 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 0, 0, 0, 2]> : tensor<6xi64>
      %31 = stablehlo.dynamic_slice %30, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %32 = stablehlo.convert %31 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %33 = stablehlo.reshape %32 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %34 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %35 = stablehlo.dynamic_slice %29, %33, %34, sizes = [4, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<i32>, tensor<i32>) -> tensor<4x64xf32>
      %36 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %37 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[4, 0, 0, 0, 0, 4]> : tensor<6xi64>
      %38 = stablehlo.dynamic_slice %37, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %39 = stablehlo.convert %38 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %40 = stablehlo.reshape %39 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %41 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x64xi32>
      %42 = stablehlo.broadcast_in_dim %36, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<4x64xi32>
      %43 = stablehlo.broadcast_in_dim %40, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<4x64xi32>
      %44 = stablehlo.compare GE, %41, %42, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
      %45 = stablehlo.compare LT, %41, %43, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xi32>, tensor<4x64xi32>) -> tensor<4x64xi1>
      %46 = stablehlo.and %44, %45 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x64xi1>
      %47 = stablehlo.select %46, %arg1, %35 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<4x64xi1>, tensor<4x64xf32>
      %48 = stablehlo.dynamic_update_slice %29, %47, %33, %34 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<4x64xf32>, tensor<i32>, tensor<i32>) -> tensor<6x64xf32>
      %49 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 2, 0, 2, 0, 2]> : tensor<6xi64>
      %50 = stablehlo.dynamic_slice %49, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %51 = stablehlo.convert %50 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %52 = stablehlo.reshape %51 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %53 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %54 = stablehlo.dynamic_slice %arg1, %52, %53, sizes = [2, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64xf32>
      %55 = "stablehlo.collective_permute"(%54) <{source_target_pairs = dense<[[0, 4], [1, 2], [2, 0], [3, 5], [4, 3], [5, 1]]> : tensor<6x2xi64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>} : (tensor<2x64xf32>) -> tensor<2x64xf32>
      %56 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[4, 4, 2, 2, 0, 0]> : tensor<6xi64>
      %57 = stablehlo.dynamic_slice %56, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %58 = stablehlo.convert %57 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %59 = stablehlo.reshape %58 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %60 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %61 = stablehlo.dynamic_update_slice %48, %55, %59, %60 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<2x64xf32>, tensor<i32>, tensor<i32>) -> tensor<6x64xf32>
      %62 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 0, 2, 0, 2]> : tensor<6xi64>
      %63 = stablehlo.dynamic_slice %62, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %64 = stablehlo.convert %63 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %65 = stablehlo.reshape %64 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %66 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %67 = stablehlo.dynamic_slice %arg1, %65, %66, sizes = [2, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64xf32>
      %68 = "stablehlo.collective_permute"(%67) <{source_target_pairs = dense<[[0, 2], [2, 4], [3, 1], [5, 3]]> : tensor<4x2xi64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>} : (tensor<2x64xf32>) -> tensor<2x64xf32>
      %69 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 0, 0, 4, 4, 0]> : tensor<6xi64>
      %70 = stablehlo.dynamic_slice %69, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %71 = stablehlo.convert %70 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %72 = stablehlo.reshape %71 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %73 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %74 = stablehlo.dynamic_slice %61, %72, %73, sizes = [2, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64xf32>
      %75 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %76 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 2, 2, 2, 2, 0]> : tensor<6xi64>
      %77 = stablehlo.dynamic_slice %76, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %78 = stablehlo.convert %77 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %79 = stablehlo.reshape %78 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %80 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi32>
      %81 = stablehlo.broadcast_in_dim %75, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<2x64xi32>
      %82 = stablehlo.broadcast_in_dim %79, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<2x64xi32>
      %83 = stablehlo.compare GE, %80, %81, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x64xi32>, tensor<2x64xi32>) -> tensor<2x64xi1>
      %84 = stablehlo.compare LT, %80, %82, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x64xi32>, tensor<2x64xi32>) -> tensor<2x64xi1>
      %85 = stablehlo.and %83, %84 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi1>
      %86 = stablehlo.select %85, %68, %74 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi1>, tensor<2x64xf32>
      %87 = stablehlo.dynamic_update_slice %61, %86, %72, %73 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<2x64xf32>, tensor<i32>, tensor<i32>) -> tensor<6x64xf32>
      %88 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[2, 2, 2, 2, 0, 2]> : tensor<6xi64>
      %89 = stablehlo.dynamic_slice %88, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %90 = stablehlo.convert %89 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %91 = stablehlo.reshape %90 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %92 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %93 = stablehlo.dynamic_slice %arg1, %91, %92, sizes = [2, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<4x64xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64xf32>
      %94 = "stablehlo.collective_permute"(%93) <{source_target_pairs = dense<[[1, 4], [4, 1]]> : tensor<2x2xi64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>} : (tensor<2x64xf32>) -> tensor<2x64xf32>
      %95 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<2> : tensor<i32>
      %96 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %97 = stablehlo.dynamic_slice %87, %95, %96, sizes = [2, 64] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64xf32>
      %98 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %99 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<[0, 2, 0, 0, 2, 0]> : tensor<6xi64>
      %100 = stablehlo.dynamic_slice %99, %3, sizes = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xi64>, tensor<i32>) -> tensor<1xi64>
      %101 = stablehlo.convert %100 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<1xi64>) -> tensor<1xi32>
      %102 = stablehlo.reshape %101 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<1xi32>) -> tensor<i32>
      %103 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi32>
      %104 = stablehlo.broadcast_in_dim %98, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<2x64xi32>
      %105 = stablehlo.broadcast_in_dim %102, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<i32>) -> tensor<2x64xi32>
      %106 = stablehlo.compare GE, %103, %104, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x64xi32>, tensor<2x64xi32>) -> tensor<2x64xi1>
      %107 = stablehlo.compare LT, %103, %105, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x64xi32>, tensor<2x64xi32>) -> tensor<2x64xi1>
      %108 = stablehlo.and %106, %107 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi1>
      %109 = stablehlo.select %108, %94, %97 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<2x64xi1>, tensor<2x64xf32>
      %110 = stablehlo.dynamic_update_slice %87, %109, %95, %96 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x64xf32>, tensor<2x64xf32>, tensor<i32>, tensor<i32>) -> tensor<6x64xf32>
      sdy.return %110 : tensor<6x64xf32>
    } {shardwise.made} : (tensor<12x64xf32>) -> tensor<12x64xf32>
    %2 = "shardwise.resize"(%1) <{sizes = array<i64: 11, 64>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : (tensor<12x64xf32>) -> tensor<11x64xf32>
    return %2 : tensor<11x64xf32>
  }
}
