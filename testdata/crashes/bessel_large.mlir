// runs
// chlo.bessel_i1e of the largest double is 0 in place of 2.98e-155, because 2 * pi * x overflows.
func.func @main() {
  %x = stablehlo.constant dense<1.7976931348623157e308> : tensor<f64>
  %0 = chlo.bessel_i1e %x : tensor<f64> -> tensor<f64>
  %z = stablehlo.constant dense<1.0e-155> : tensor<f64>
  %1 = stablehlo.compare GT, %0, %z : (tensor<f64>, tensor<f64>) -> tensor<i1>
  check.expect_eq_const %1, dense<true> : tensor<i1>
  return
}
