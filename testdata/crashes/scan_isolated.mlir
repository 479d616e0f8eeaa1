// refused
// The region of a scan is isolated from above, so it may not use %i from outside.
func.func @main(%x: tensor<4xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  %0:2 = chlo.scan(%x) inits(%i) dimension=0 {
  ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
    %1 = stablehlo.add %arg2, %i : tensor<f32>
    stablehlo.return %1, %1 : tensor<f32>, tensor<f32>
  } : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  return %0#0 : tensor<4xf32>
}
