// runs
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<3x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<2xi32>) -> (tensor<2xi32>, tensor<2x1x1xi32>) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %1 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x2xi32>, tensor<2xi32>) -> tensor<2x1x1xi32>
  return %0, %1 : tensor<2xi32>, tensor<2x1x1xi32>
}
