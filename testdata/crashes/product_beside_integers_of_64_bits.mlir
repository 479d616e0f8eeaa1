// runs
// A product of f32 that was fused with a comparison of i64 was taken in f64.
func.func @main(%x: tensor<4xf32>, %k: tensor<4xi64>) -> tensor<f32> {
  %i = stablehlo.constant dense<1.0> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<4xi64>
  %p = stablehlo.compare GE, %k, %z : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
  %s = stablehlo.select %p, %x, %x : tensor<4xi1>, tensor<4xf32>
  %y = stablehlo.negate %x : tensor<4xf32>
  %t = stablehlo.select %p, %x, %y : tensor<4xi1>, tensor<4xf32>
  %1 = stablehlo.reduce(%t init: %i) applies stablehlo.multiply across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
