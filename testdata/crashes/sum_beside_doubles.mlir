// runs
// A sum of f32 that was fused with an op on f64 was taken in f64.
func.func @main(%x: tensor<100xf64>) -> tensor<f32> {
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convert %x : (tensor<100xf64>) -> tensor<100xf32>
  %1 = stablehlo.reduce(%0 init: %i) applies stablehlo.add across dimensions = [0] : (tensor<100xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
