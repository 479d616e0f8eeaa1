// runs
// The gradient of an average over windows reads the operand of a padding, and devices need no elements of others.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<2x32x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}) -> (tensor<2x64x32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %a, %c, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 1, 1, 0] : (tensor<2x32x16x8xf32>, tensor<f32>) -> tensor<2x65x33x8xf32>
  %0 = "stablehlo.reduce_window"(%p, %c) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x65x33x8xf32>, tensor<f32>) -> tensor<2x64x32x8xf32>
  return %0 : tensor<2x64x32x8xf32>
}
