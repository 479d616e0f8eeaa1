// runs
// The maximum of complex numbers exists, so a reduction by it does too: it is (-2, 5).
func.func @main() {
  %x = stablehlo.constant dense<[(-3.0,1.0),(-2.0,5.0),(-2.0,-1.0)]> : tensor<3xcomplex<f32>>
  %i = stablehlo.constant dense<(-9.0,0.0)> : tensor<complex<f32>>
  %r = stablehlo.reduce(%x init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  check.expect_eq_const %r, dense<(-2.0, 5.0)> : tensor<complex<f32>>
  return
}
