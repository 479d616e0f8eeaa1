// A padding with zeros and holes is the convolution's own.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<2x16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x3x5xf32>) -> (tensor<2x34x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %a, %c, low = [0, 1, 0], high = [0, 2, 0], interior = [0, 1, 0] : (tensor<2x16x3xf32>, tensor<f32>) -> tensor<2x34x3xf32>
  %0 = stablehlo.convolution(%p, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x34x3xf32>, tensor<3x3x5xf32>) -> tensor<2x34x5xf32>
  return %0 : tensor<2x34x5xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<2x16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<3x3x5xf32>) -> (tensor<2x34x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0, 1, 0], high = [0, 2, 0], interior = [0, 1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x", ?}, {?}]>]>} : (tensor<2x16x3xf32>, tensor<f32>) -> tensor<2x34x3xf32>
    %2 = stablehlo.convolution(%1, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x", ?}, {?}]>]>} : (tensor<2x34x3xf32>, tensor<3x3x5xf32>) -> tensor<2x34x5xf32>
    return %2 : tensor<2x34x5xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<2x16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<3x3x5xf32>) -> (tensor<2x34x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 3]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x", ?}, {?}]>]>} : (tensor<2x16x3xf32>, tensor<3x3x5xf32>) -> tensor<2x34x5xf32>
    return %0 : tensor<2x34x5xf32>
  }
}
