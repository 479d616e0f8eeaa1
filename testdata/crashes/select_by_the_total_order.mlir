// runs
// In the total order, -0 is less than +0, so that the second element of the window is selected.
func.func @main() {
  %x = stablehlo.constant dense<[-0.0, 0.0]> : tensor<2xf32>
  %s = stablehlo.constant dense<3.0> : tensor<1xf32>
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2xf32>, tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<[0.0, 3.0]> : tensor<2xf32>
  return
}
