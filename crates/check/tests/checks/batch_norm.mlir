func.func @inference() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]]> : tensor<2x2x2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %mean = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = "stablehlo.batch_norm_inference"(%x, %one, %one, %mean, %one) {epsilon = 0.0 : f32, feature_index = 2 : i64} : (tensor<2x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x2xf32>
  check.expect_eq_const %0, dense<[[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]]> : tensor<2x2x2xf32>
  return
}
// -----
func.func @training() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]]> : tensor<2x2x2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %0:3 = "stablehlo.batch_norm_training"(%x, %one, %one) {epsilon = 0.0 : f32, feature_index = 2 : i64} : (tensor<2x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  check.expect_eq_const %0#0, dense<[[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]]> : tensor<2x2x2xf32>
  check.expect_eq_const %0#1, dense<[2.0, 3.0]> : tensor<2xf32>
  check.expect_eq_const %0#2, dense<1.0> : tensor<2xf32>
  return
}
// -----
func.func @grad() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 6.0]]> : tensor<2x2xf64>
  %g = stablehlo.constant dense<[[1.0, 0.0], [3.0, 1.0]]> : tensor<2x2xf64>
  %scale = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf64>
  %mean = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf64>
  %variance = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf64>
  %0:3 = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %g) {epsilon = 3.0 : f32, feature_index = 1 : i64} : (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  // Of feature 0: 2 / sqrt(4) / 2 * (2 g - 4 - 2 (x - 2) / 4).
  check.expect_almost_eq_const %0#0, dense<[[-0.75, -0.32396955], [0.75, 0.32396955]]> : tensor<2x2xf64>
  check.expect_almost_eq_const %0#1, dense<[1.0, 0.75592895]> : tensor<2xf64>
  check.expect_eq_const %0#2, dense<[4.0, 1.0]> : tensor<2xf64>
  return
}
