// runs
// Each element comes from one device. The others must add nothing to it, also if it is -0.
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%a: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<2x1xi32>) -> (tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<4x3xf32>
  %0 = stablehlo.abs %a : tensor<4x3xf32>
  %1 = stablehlo.multiply %0, %zero : tensor<4x3xf32>
  %2 = stablehlo.negate %1 : tensor<4x3xf32>
  %3 = "stablehlo.gather"(%2, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}
