// Components of indices that are always 0, where windows begin: they are left out.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}, %i: tensor<4x1xi32>, %u: tensor<4x1x6xf32>) -> tensor<4x8x6xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
  %1 = stablehlo.concatenate %i, %0, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %2 = "stablehlo.scatter"(%a, %1, %u) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x8x6xf32>, tensor<4x2xi32>, tensor<4x1x6xf32>) -> tensor<4x8x6xf32>
  return %2 : tensor<4x8x6xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}, %arg1: tensor<4x1xi32>, %arg2: tensor<4x1x6xf32>) -> tensor<4x8x6xf32> {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
    %2 = stablehlo.concatenate %arg1, %1, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
    %3 = stablehlo.slice %2 [0:4, 0:1] : (tensor<4x2xi32>) -> tensor<4x1xi32>
    %4 = "stablehlo.scatter"(%arg0, %3, %arg2) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<4x8x6xf32>, tensor<4x1xi32>, tensor<4x1x6xf32>) -> tensor<4x8x6xf32>
    return %4 : tensor<4x8x6xf32>
  }
}
