// calls: 10
module {
 func.func public @main(%x: tensor<1x64x64x16xf32>) -> tensor<1x32x32x16xf32> {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
   %r = stablehlo.maximum %a, %b : tensor<f32>
   stablehlo.return %r : tensor<f32>
  }) : (tensor<1x64x64x16xf32>, tensor<f32>) -> tensor<1x32x32x16xf32>
  return %0 : tensor<1x32x32x16xf32>
 }
}
