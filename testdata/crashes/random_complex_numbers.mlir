// refused
func.func @main(%s: tensor<2xui64>) -> tensor<4x2xcomplex<f64>> {
  %state, %output = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x2xcomplex<f64>>)
  return %output : tensor<4x2xcomplex<f64>>
}
