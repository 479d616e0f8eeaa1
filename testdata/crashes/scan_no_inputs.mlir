// runs
// A scan without inputs takes its length from scan_dim_size.
func.func @main(%i: tensor<f32>) -> tensor<4xf32> {
  %0:2 = "chlo.scan"(%i) <{dimension = 0 : i64, scan_dim_size = 4 : i64, operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%arg3: tensor<f32>):
    %1 = stablehlo.add %arg3, %arg3 : tensor<f32>
    stablehlo.return %1, %1 : tensor<f32>, tensor<f32>
  }) : (tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  return %0#0 : tensor<4xf32>
}
