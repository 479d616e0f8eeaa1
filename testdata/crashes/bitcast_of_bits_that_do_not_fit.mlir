// refused
// Two numbers of 6 bits are three of 4 bits, for which there is no place.
func.func @main(%x: tensor<2xf6E2M3FN>) -> tensor<2x1xi4> {
  %0 = stablehlo.bitcast_convert %x : (tensor<2xf6E2M3FN>) -> tensor<2x1xi4>
  return %0 : tensor<2x1xi4>
}
