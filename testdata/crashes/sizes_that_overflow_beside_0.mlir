// refused
// The type has no elements, but the product of its other sizes overflows.
func.func @main(%x: tensor<4294967296x4294967296x0xf32>) -> tensor<4294967296x4294967296x0xf32> {
  return %x : tensor<4294967296x4294967296x0xf32>
}
