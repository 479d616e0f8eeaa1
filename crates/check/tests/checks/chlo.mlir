func.func @scan() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %c = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %0:2 = chlo.scan(%x) inits(%c) dimension=1 attributes {is_reverse = true} {
  ^bb0(%a: tensor<2xi32>, %b: tensor<2xi32>):
    %1 = stablehlo.add %a, %b : tensor<2xi32>
    stablehlo.return %b, %1 : tensor<2xi32>, tensor<2xi32>
  } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
  check.expect_eq_const %0#0, dense<[[15, 13, 10], [31, 26, 20]]> : tensor<2x3xi32>
  check.expect_eq_const %0#1, dense<[16, 35]> : tensor<2xi32>
  return
}
// -----
func.func @ragged_rows() {
  %x = stablehlo.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %y = stablehlo.constant dense<[[[1.0, 10.0]], [[100.0, 0x7F800000]]]> : tensor<2x1x2xf32>
  %g = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
  %0 = "chlo.ragged_dot"(%x, %y, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<4x1xf32>, tensor<2x1x2xf32>, tensor<2xi32>) -> tensor<4x2xf32>
  check.expect_eq_const %0, dense<[[1.0, 10.0], [2.0, 20.0], [300.0, 0x7F800000], [0.0, 0.0]]> : tensor<4x2xf32>
  return
}
// -----
func.func @ragged_sums() {
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %y = stablehlo.constant dense<[[1.0], [10.0], [0x7F800000]]> : tensor<3x1xf32>
  %g = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
  %0 = "chlo.ragged_dot"(%x, %y, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1], rhs_group_dimensions = []>} : (tensor<1x3xf32>, tensor<3x1xf32>, tensor<2xi32>) -> tensor<2x1x1xf32>
  check.expect_eq_const %0, dense<[[[21.0]], [[0x7F800000]]]> : tensor<2x1x1xf32>
  return
}
// -----
func.func @elementwise() {
  %a = stablehlo.constant dense<[64, -64, -128]> : tensor<3xi8>
  %b = stablehlo.constant dense<[4, 4, -128]> : tensor<3xi8>
  %0 = chlo.mulhi %a, %b : tensor<3xi8>, tensor<3xi8> -> tensor<3xi8>
  check.expect_eq_const %0, dense<[1, -1, 64]> : tensor<3xi8>
  %n = stablehlo.constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
  %x = stablehlo.constant dense<1.0> : tensor<3xf32>
  %1 = chlo.polygamma %n, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  check.expect_almost_eq_const %1, dense<[-0.5772157, 1.6449341, -2.4041138]> : tensor<3xf32>
  return
}
