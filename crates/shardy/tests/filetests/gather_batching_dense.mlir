// run: sdy-explicit-gather-scatter-batching
func.func @main(%a: tensor<4x8xf32>, %b: tensor<4x1xi32>) -> tensor<4x1xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<4x1xi32>
  %1 = stablehlo.concatenate %b, %0, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
  %2 = "stablehlo.gather"(%a, %1) {dimension_numbers = #stablehlo.gather<offset_dims = dense<1> : tensor<1xi32>, collapsed_slice_dims = dense<0> : tensor<1xi32>, start_index_map = dense<[1, 0]> : tensor<2xi32>, index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x1xf32>
  return %2 : tensor<4x1xf32>
}
// ---- expected
module {
  func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<4x1xi32>) -> tensor<4x1xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = dense<1> : tensor<1xi32>, operand_batching_dims = dense<[0]> : tensor<1xi32>, start_indices_batching_dims = dense<[0]> : tensor<1xi32>, start_index_map = dense<[1]> : tensor<1xi32>, index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x8xf32>, tensor<4x1xi32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
}
