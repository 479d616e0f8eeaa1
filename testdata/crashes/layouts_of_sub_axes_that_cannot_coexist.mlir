// runs
// Parts of an axis of six devices, as 2 x 3 and as 3 x 2, cannot be in one layout.
sdy.mesh @m = <["x"=6]>
func.func @main(%a: tensor<6x1x6x2xf64> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {"x"}, {}]>}, %b: tensor<1x2x3x2xf64> {sdy.sharding = #sdy.sharding<@m, [{}, {"x"}, {}, {}]>}) -> (tensor<3x6x3x2xf64> {sdy.sharding = #sdy.sharding<@m, [{}, {}, {}, {"x":(3)2}]>}) {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 1, 0]x[i, 0, o, 1]->[0, b, f, 1], window = {stride = [1, 2], pad = [[0, 0], [-2, 0]], lhs_dilate = [3, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<6x1x6x2xf64>, tensor<1x2x3x2xf64>) -> tensor<3x6x3x2xf64>
  return %0 : tensor<3x6x3x2xf64>
}
