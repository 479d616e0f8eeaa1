// refused: an escape is two hexadecimal digits, and a sign is none.
func.func @"a\+5"(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
