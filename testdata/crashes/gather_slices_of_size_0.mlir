// runs
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<3x2xi32>, tensor<3x2xi32>) {
  %i = stablehlo.constant dense<[9, 1, -4]> : tensor<3xi32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 0, 2>}> : (tensor<4x2xi32>, tensor<3xi32>) -> tensor<3x2xi32>
  %sizes = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
  %1 = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x2xi32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x2xi32>
  return %0, %1 : tensor<3x2xi32>, tensor<3x2xi32>
}
