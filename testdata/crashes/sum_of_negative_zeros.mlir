// runs
// Every order of adding -0 to -0 gives -0, and both engines return +0 (initial value and all elements -0), because partial sums start from +0.
func.func @main(%i: tensor<f32>) -> (tensor<f32>, tensor<3xf32>) {
  %x = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %y = stablehlo.constant dense<-0.0> : tensor<5x3xf32>
  %z = stablehlo.constant dense<-0.0> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %1, %2 : tensor<f32>, tensor<3xf32>
}
