// runs
// The specification compares complex numbers lexicographically in every direction. A NaN is not ordered.
func.func @main(%x: tensor<2xcomplex<f32>>, %y: tensor<2xcomplex<f32>>) -> (tensor<2xi1>, tensor<2xcomplex<f32>>) {
  %a = stablehlo.constant dense<[(1.0, 2.0), (1.0, 2.0), (1.0, 2.0), (0x7FC00000, 2.0)]> : tensor<4xcomplex<f32>>
  %b = stablehlo.constant dense<[(1.0, 3.0), (0.0, 9.0), (1.0, 2.0), (0x7FC00000, 2.0)]> : tensor<4xcomplex<f32>>
  %lt = stablehlo.compare LT, %a, %b, FLOAT : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
  check.expect_eq_const %lt, dense<[true, false, false, false]> : tensor<4xi1>
  %ge = stablehlo.compare GE, %a, %b : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
  check.expect_eq_const %ge, dense<[false, true, true, false]> : tensor<4xi1>
  %ne = stablehlo.compare NE, %a, %b : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
  check.expect_eq_const %ne, dense<[true, true, false, true]> : tensor<4xi1>
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<complex<f32>>, %q: tensor<complex<f32>>):
    %1 = stablehlo.compare GT, %p, %q : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %0 = stablehlo.compare LT, %x, %y, FLOAT : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  return %0, %s : tensor<2xi1>, tensor<2xcomplex<f32>>
}
