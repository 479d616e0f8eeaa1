// runs
// Where the exponential overflows on the real axis, expm1, sinh and cosh have an imaginary part of NaN in place of 0, and logistic(-1000) is NaN in place of 0.
func.func @main() {
  %x = stablehlo.constant dense<(1000.0, 0.0)> : tensor<complex<f32>>
  %0 = stablehlo.exponential_minus_one %x : tensor<complex<f32>>
  %1 = stablehlo.imag %0 : (tensor<complex<f32>>) -> tensor<f32>
  check.expect_eq_const %1, dense<0.0> : tensor<f32>
  %2 = chlo.sinh %x : tensor<complex<f32>> -> tensor<complex<f32>>
  %3 = stablehlo.imag %2 : (tensor<complex<f32>>) -> tensor<f32>
  check.expect_eq_const %3, dense<0.0> : tensor<f32>
  %n = stablehlo.negate %x : tensor<complex<f32>>
  %4 = stablehlo.logistic %n : tensor<complex<f32>>
  check.expect_eq_const %4, dense<(0.0, 0.0)> : tensor<complex<f32>>
  return
}
