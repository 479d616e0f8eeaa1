// runs
// A depthwise convolution of 3 channels on 2 devices: the channels are padded to 4 and feature_group_count stays 3, so the local op has 3 / 2 = 1 group and is invalid.
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<1x4x3xf32> {sdy.sharding = #sdy.sharding<@m, [{},{},{"x"}]>}, %b: tensor<2x1x3xf32> {sdy.sharding = #sdy.sharding<@m, [{},{},{"x"}]>}) -> (tensor<1x3x3xf32> {sdy.sharding = #sdy.sharding<@m, [{},{},{"x"}]>}) {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<1x4x3xf32>, tensor<2x1x3xf32>) -> tensor<1x3x3xf32>
  return %0 : tensor<1x3x3xf32>
}
