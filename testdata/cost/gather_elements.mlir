// calls: 20
module {
 func.func public @main(%x: tensor<8192xf32>) -> tensor<16384xf32> {
  %i0 = stablehlo.iota dim = 0 : tensor<16384xi32>
  %i1 = stablehlo.constant dense<37> : tensor<16384xi32>
  %i2 = stablehlo.multiply %i0, %i1 : tensor<16384xi32>
  %i3 = stablehlo.constant dense<8191> : tensor<16384xi32>
  %i4 = stablehlo.and %i2, %i3 : tensor<16384xi32>
  %i = stablehlo.reshape %i4 : (tensor<16384xi32>) -> tensor<16384x1xi32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<8192xf32>, tensor<16384x1xi32>) -> tensor<16384xf32>
  return %0 : tensor<16384xf32>
 }
}
