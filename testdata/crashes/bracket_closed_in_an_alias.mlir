// refused
// The bracket was skipped without a message, and the rest of the text with it.
#a = 1 )
module {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }
}
