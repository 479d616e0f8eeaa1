// refused
// An array of more than 2^59 elements can be neither stored nor counted, even if one element is repeated.
func.func @main() -> tensor<1000000000x1000000000xi8> {
  %0 = stablehlo.constant dense<1> : tensor<1000000000x1000000000xi8>
  return %0 : tensor<1000000000x1000000000xi8>
}
