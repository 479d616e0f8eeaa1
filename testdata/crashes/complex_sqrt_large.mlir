// runs
// The square root of a complex number near the largest float overflows: inf in place of 1.3e154.
func.func @main() {
  %x = stablehlo.constant dense<(1.7e308, 0.0)> : tensor<complex<f64>>
  %0 = stablehlo.sqrt %x : tensor<complex<f64>>
  %1 = stablehlo.real %0 : (tensor<complex<f64>>) -> tensor<f64>
  check.expect_close %1, %1, max_ulp_difference = 0 : tensor<f64>, tensor<f64>
  %2 = stablehlo.is_finite %1 : (tensor<f64>) -> tensor<i1>
  check.expect_eq_const %2, dense<true> : tensor<i1>
  return
}
