// calls: 100
module {
 func.func public @main(%x: tensor<8x512xbf16>, %y: tensor<512x1024xbf16>) -> tensor<8x1024xbf16> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<8x512xbf16>, tensor<512x1024xbf16>) -> tensor<8x1024xbf16>
  return %0 : tensor<8x1024xbf16>
 }
}
