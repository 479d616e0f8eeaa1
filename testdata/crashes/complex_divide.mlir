// runs
// A quotient of complex<f64> is computed with the square of the divisor's modulus, which overflows or is 0: x / x is NaN in place of 1.
func.func @main() {
  %x = stablehlo.constant dense<[(1.0e200, 1.0e200), (1.0e-200, 0.0)]> : tensor<2xcomplex<f64>>
  %0 = stablehlo.divide %x, %x : tensor<2xcomplex<f64>>
  check.expect_almost_eq_const %0, dense<(1.0, 0.0)> : tensor<2xcomplex<f64>>
  return
}
