// runs
// The specification's sign of every complex zero is (0, 0), also of (-0, -0): 1 divided by its real part is inf.
func.func @main() {
  %x = stablehlo.constant dense<(-0.0, -0.0)> : tensor<complex<f32>>
  %0 = stablehlo.sign %x : tensor<complex<f32>>
  %1 = stablehlo.real %0 : (tensor<complex<f32>>) -> tensor<f32>
  %2 = stablehlo.bitcast_convert %1 : (tensor<f32>) -> tensor<i32>
  check.expect_eq_const %2, dense<0> : tensor<i32>
  return
}
