// runs
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @main(%v75: tensor<1x4x6xf32>, %arg3: tensor<2x3x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"z"}, {}]>}) -> tensor<2x3x1xf32> {
  %0 = "stablehlo.convolution"(%v75, %arg3) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[o, i, 0]->[f, 0, b]>, window_strides = array<i64: 2>, lhs_dilation = array<i64: 1>, rhs_dilation = array<i64: 2>, window_reversal = array<i1: true>, feature_group_count = 2 : i64, batch_group_count = 1 : i64, padding = dense<[[2, 2]]> : tensor<1x2xi64>}> : (tensor<1x4x6xf32>, tensor<2x3x2xf32>) -> (tensor<2x3x1xf32>)
  return %0 : tensor<2x3x1xf32>
}
