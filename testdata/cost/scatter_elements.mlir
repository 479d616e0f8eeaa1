// calls: 20
module {
 func.func public @main(%x: tensor<8192xf32>, %u: tensor<16384xf32>) -> tensor<8192xf32> {
  %i0 = stablehlo.iota dim = 0 : tensor<16384xi32>
  %i1 = stablehlo.constant dense<37> : tensor<16384xi32>
  %i2 = stablehlo.multiply %i0, %i1 : tensor<16384xi32>
  %i3 = stablehlo.constant dense<8191> : tensor<16384xi32>
  %i4 = stablehlo.and %i2, %i3 : tensor<16384xi32>
  %i = stablehlo.reshape %i4 : (tensor<16384xi32>) -> tensor<16384x1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
   %r = stablehlo.add %a, %b : tensor<f32>
   stablehlo.return %r : tensor<f32>
  }) : (tensor<8192xf32>, tensor<16384x1xi32>, tensor<16384xf32>) -> tensor<8192xf32>
  return %0 : tensor<8192xf32>
 }
}
