// Rows of a table that is split along the rows.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<3x1xi32>) -> (tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<3x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<3x4xf32>
    return %1 : tensor<3x4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<8x4xf32>}, %arg1: tensor<3x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, shardwise.global_type = tensor<3x1xi32>}) -> (tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, shardwise.global_type = tensor<3x4xf32>}) {
    %0 = stablehlo.slice %arg1 [0:3, 0:1] : (tensor<3x1xi32>) -> tensor<3x1xi32>
    %1 = stablehlo.reshape %0 : (tensor<3x1xi32>) -> tensor<3xi32>
    %2 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.constant dense<7> : tensor<i32>
    %4 = stablehlo.clamp %2, %1, %3 : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
    %5 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %6 = stablehlo.constant dense<4> : tensor<i32>
    %7 = stablehlo.multiply %5, %6 : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %9 = stablehlo.subtract %4, %8 : tensor<3xi32>
    %10 = stablehlo.constant dense<0> : tensor<i32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %12 = stablehlo.constant dense<3> : tensor<i32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %14 = stablehlo.compare GE, %9, %11, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %15 = stablehlo.compare LE, %9, %13, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %16 = stablehlo.and %14, %15 : tensor<3xi1>
    %17 = stablehlo.reshape %9 : (tensor<3xi32>) -> tensor<3x1xi32>
    %18 = "stablehlo.gather"(%arg0, %17) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<4x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
    %19 = stablehlo.broadcast_in_dim %16, dims = [0] : (tensor<3xi1>) -> tensor<3x4xi1>
    %20 = stablehlo.constant dense<-0.000000e+00> : tensor<3x4xf32>
    %21 = stablehlo.select %19, %18, %20 : tensor<3x4xi1>, tensor<3x4xf32>
    %22 = "stablehlo.all_reduce"(%21) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %23 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %23 : tensor<f32>
    }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    return %22 : tensor<3x4xf32>
  }
}
