// refused
// The attribute scan_dim_size is 7, but the inputs have 4 elements along the dimension.
func.func @main(%x: tensor<4xf32>, %i: tensor<f32>) -> tensor<4xf32> {
  %0:2 = "chlo.scan"(%x, %i) <{dimension = 0 : i64, scan_dim_size = 7 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
    %1 = stablehlo.add %arg2, %arg3 : tensor<f32>
    stablehlo.return %1, %1 : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  return %0#0 : tensor<4xf32>
}
