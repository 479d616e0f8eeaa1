// runs
// A convolution reads the operand of a padding with zeros and holes.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<2x16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x3x5xf32>) -> (tensor<2x34x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %a, %c, low = [0, 1, 0], high = [0, 2, 0], interior = [0, 1, 0] : (tensor<2x16x3xf32>, tensor<f32>) -> tensor<2x34x3xf32>
  %0 = stablehlo.convolution(%p, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x34x3xf32>, tensor<3x3x5xf32>) -> tensor<2x34x5xf32>
  return %0 : tensor<2x34x5xf32>
}
