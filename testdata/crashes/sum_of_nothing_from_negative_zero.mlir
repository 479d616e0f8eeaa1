// runs
// The sum of no elements is the initial value, which was +0 for -0.
func.func @main(%x: tensor<0xf32>, %y: tensor<0x3xbf16>) -> (tensor<f32>, tensor<3xbf16>) {
  %i = stablehlo.constant dense<-0.0> : tensor<f32>
  %j = stablehlo.constant dense<-0.0> : tensor<bf16>
  %1 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<0xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.reduce(%y init: %j) applies stablehlo.add across dimensions = [0] : (tensor<0x3xbf16>, tensor<bf16>) -> tensor<3xbf16>
  return %1, %2 : tensor<f32>, tensor<3xbf16>
}
