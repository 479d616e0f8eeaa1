func.func @sizes() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %s = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<2xi32>, tensor<2xi64>) -> tensor<3x2xi32>
  check.expect_eq_const %0, dense<[[1, 2], [1, 2], [1, 2]]> : tensor<3x2xi32>
  %1 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<3x2xi32>
  check.expect_eq_const %1, dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi32>
  %2 = stablehlo.constant dense<[6]> : tensor<1xi64>
  %3 = stablehlo.dynamic_reshape %1, %2 : (tensor<3x2xi32>, tensor<1xi64>) -> tensor<6xi32>
  check.expect_eq_const %3, dense<[0, 0, 1, 1, 2, 2]> : tensor<6xi32>
  return
}
// -----
func.func @slices() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  %a = stablehlo.constant dense<1> : tensor<1xi64>
  %b = stablehlo.constant dense<6> : tensor<1xi64>
  %c = stablehlo.constant dense<2> : tensor<1xi64>
  %0 = stablehlo.real_dynamic_slice %x, %a, %b, %c : (tensor<6xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[2, 4, 6]> : tensor<3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.dynamic_pad %0, %z, %a, %c, %a : (tensor<3xi32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<8xi32>
  check.expect_eq_const %1, dense<[0, 2, 0, 4, 0, 6, 0, 0]> : tensor<8xi32>
  return
}
