// calls: 10
module {
 func.func public @main(%x: tensor<2x28x28x32xf32>, %w: tensor<3x3x1x32xf32>) -> tensor<2x28x28x32xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 32 : i64} : (tensor<2x28x28x32xf32>, tensor<3x3x1x32xf32>) -> tensor<2x28x28x32xf32>
  return %0 : tensor<2x28x28x32xf32>
 }
}
