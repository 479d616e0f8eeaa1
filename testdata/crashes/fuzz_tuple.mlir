// runs
func.func @main(%x: tensor<2xf32>, %y: tensor<3xi32>) -> tensor<3xi32> {
  %0 = stablehlo.tuple %x, %y : tuple<tensor<2xf32>, tensor<3xi32>>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xf32>, tensor<3xi32>>) -> tensor<3xi32>
  return %1 : tensor<3xi32>
}
