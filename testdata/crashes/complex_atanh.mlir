// runs
// The inverse hyperbolic tangent of -1 + 1e-30i is -inf in place of -34.885 + 0.785i; at 1 + 1e-30i it is right.
func.func @main() {
  %x = stablehlo.constant dense<(-1.0, 1.0e-30)> : tensor<complex<f32>>
  %0 = chlo.atanh %x : tensor<complex<f32>> -> tensor<complex<f32>>
  check.expect_almost_eq_const %0, dense<(-34.8853493, 0.785398185)> : tensor<complex<f32>>
  return
}
