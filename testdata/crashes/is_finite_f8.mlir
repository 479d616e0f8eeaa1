// runs
// The ops on floats is_finite, is_inf, reduce_precision and next_after are accepted on floats of 8 bits and less, and fail when they run.
func.func @main(%x: tensor<2xf8E5M2>) -> (tensor<2xi1>, tensor<2xi1>, tensor<2xf8E5M2>, tensor<2xf8E5M2>) {
  %0 = stablehlo.is_finite %x : (tensor<2xf8E5M2>) -> tensor<2xi1>
  %1 = chlo.is_inf %x : tensor<2xf8E5M2> -> tensor<2xi1>
  %2 = stablehlo.reduce_precision %x, format = e4m1 : tensor<2xf8E5M2>
  %3 = chlo.next_after %x, %x : tensor<2xf8E5M2>, tensor<2xf8E5M2> -> tensor<2xf8E5M2>
  return %0, %1, %2, %3 : tensor<2xi1>, tensor<2xi1>, tensor<2xf8E5M2>, tensor<2xf8E5M2>
}
