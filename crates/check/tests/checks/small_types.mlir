func.func @integers() {
  %a = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
  %b = stablehlo.constant dense<[1, -1, 2]> : tensor<3xi4>
  %0 = stablehlo.add %a, %b : tensor<3xi4>
  check.expect_eq_const %0, dense<[-8, 7, 5]> : tensor<3xi4>
  %1 = stablehlo.compare GT, %a, %b : (tensor<3xi4>, tensor<3xi4>) -> tensor<3xi1>
  check.expect_eq_const %1, dense<[true, false, true]> : tensor<3xi1>
  %z = stablehlo.constant dense<0> : tensor<i4>
  %2 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<3xi4>, tensor<i4>) -> tensor<i4>
  check.expect_eq_const %2, dense<7> : tensor<i4>
  %3 = stablehlo.convert %a : (tensor<3xi4>) -> tensor<3xui2>
  check.expect_eq_const %3, dense<[3, 0, 3]> : tensor<3xui2>
  return
}
// -----
func.func @floats() {
  %a = stablehlo.constant dense<[1.0, 1.125, 448.0]> : tensor<3xf8E4M3FN>
  %0 = stablehlo.add %a, %a : tensor<3xf8E4M3FN>
  check.expect_almost_eq_const %0, dense<[2.0, 2.25, 0x7F]> : tensor<3xf8E4M3FN>
  %1 = stablehlo.convert %a : (tensor<3xf8E4M3FN>) -> tensor<3xf32>
  check.expect_eq_const %1, dense<[1.0, 1.125, 448.0]> : tensor<3xf32>
  %2 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<3xf8E4M3FN>, tensor<3xf8E4M3FN>) -> tensor<f32>
  check.expect_eq_const %2, dense<200706.265625> : tensor<f32>
  return
}
// -----
func.func @bits() {
  %a = stablehlo.constant dense<[[1, -2], [7, -8]]> : tensor<2x2xi4>
  %0 = stablehlo.bitcast_convert %a : (tensor<2x2xi4>) -> tensor<2xui8>
  check.expect_eq_const %0, dense<[225, 135]> : tensor<2xui8>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2xui8>) -> tensor<2x2xi4>
  check.expect_eq %1, %a : tensor<2x2xi4>
  return
}
