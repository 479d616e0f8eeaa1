// calls: 20
module {
 func.func public @main(%x: tensor<1024x256xf32>) -> tensor<4096x256xf32> {
  %i0 = stablehlo.iota dim = 0 : tensor<4096xi32>
  %i1 = stablehlo.constant dense<37> : tensor<4096xi32>
  %i2 = stablehlo.multiply %i0, %i1 : tensor<4096xi32>
  %i3 = stablehlo.constant dense<1023> : tensor<4096xi32>
  %i4 = stablehlo.and %i2, %i3 : tensor<4096xi32>
  %i = stablehlo.reshape %i4 : (tensor<4096xi32>) -> tensor<4096x1xi32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 256>}> : (tensor<1024x256xf32>, tensor<4096x1xi32>) -> tensor<4096x256xf32>
  return %0 : tensor<4096x256xf32>
 }
}
