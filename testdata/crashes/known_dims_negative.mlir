// refused
// A known expanding dimension of -1 breaks dynamic_broadcast_in_dim_c9, and is read as an empty list.
func.func @main(%arg0: tensor<2xf32>) -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%arg0, %c) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: -1>}> : (tensor<2xf32>, tensor<2xi32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
