// runs
// A transform without elements asks for 32 GB for the roots of unity of its length.
func.func @main(%x: tensor<0x2000000000xcomplex<f32>>) -> tensor<0x2000000000xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = FFT, length = [2000000000] : (tensor<0x2000000000xcomplex<f32>>) -> tensor<0x2000000000xcomplex<f32>>
  return %0 : tensor<0x2000000000xcomplex<f32>>
}
