// runs
// The logarithm of 1 + z is infinite at -1 + 1e-30i and at 1e200, in place of -69.08 + 1.57i and 460.5.
func.func @main() {
  %x = stablehlo.constant dense<(-1.0, 1.0e-30)> : tensor<complex<f32>>
  %0 = stablehlo.log_plus_one %x : tensor<complex<f32>>
  check.expect_almost_eq_const %0, dense<(-69.0775528, 1.57079637)> : tensor<complex<f32>>
  %y = stablehlo.constant dense<(1.0e200, 0.0)> : tensor<complex<f64>>
  %1 = stablehlo.log_plus_one %y : tensor<complex<f64>>
  check.expect_almost_eq_const %1, dense<(460.51701859880916, 0.0)> : tensor<complex<f64>>
  return
}
