// refused
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  check.expect_serialized_eq %x, probe_id = "x", iter = -12 : tensor<2xf32>
  return %x : tensor<2xf32>
}
