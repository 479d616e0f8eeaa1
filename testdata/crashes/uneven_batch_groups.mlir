// runs
// 3 batch groups on 2 devices: the batch is padded to 4 and batch_group_count stays 3, so the local op is invalid.
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<3x4x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"},{},{}]>}, %b: tensor<2x2x3xf32> {sdy.sharding = #sdy.sharding<@m, [{},{},{"x"}]>}) -> (tensor<1x3x3xf32> {sdy.sharding = #sdy.sharding<@m, [{},{},{"x"}]>}) {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<3x4x2xf32>, tensor<2x2x3xf32>) -> tensor<1x3x3xf32>
  return %0 : tensor<1x3x3xf32>
}
