func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  check.expect_close %x, %x, max_ulp_difference = 18446744073709551615 : tensor<2xf32>, tensor<2xf32>
  return %x : tensor<2xf32>
}
