// calls: 5
module {
 func.func public @main(%x: tensor<2x28x28x16xf32>, %w: tensor<3x3x16x32xf32>) -> tensor<2x28x28x32xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x28x28x16xf32>, tensor<3x3x16x32xf32>) -> tensor<2x28x28x32xf32>
  return %0 : tensor<2x28x28x32xf32>
 }
}
