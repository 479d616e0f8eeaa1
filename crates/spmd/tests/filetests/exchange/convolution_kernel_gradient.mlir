// The gradient of a kernel: both operands are split along the window, and the partial results are summed.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<3x32x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %g: tensor<16x2x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<3x3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = stablehlo.convolution(%a, %g) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x32x2xf32>, tensor<16x2x5xf32>) -> tensor<3x3x5xf32>
  return %0 : tensor<3x3x5xf32>
}
// ---- expected
error[convolution_c25]: `stablehlo.convolution` cannot have these result types
  --> test.mlir:4:3
   | given: [tensor<3x3x5xf32>]
   = expected: [tensor<3x4x5xf32>]
