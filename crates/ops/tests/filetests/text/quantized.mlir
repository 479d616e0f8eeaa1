!q = !quant.uniform<i8:f32, 5.000000e-01:-20>
func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<4x!q>, %arg2: tensor<2x3x!quant.uniform<ui8<1:255>:bf16:0, {1.0E-5:3, 2.5:7}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>> {
  %0 = stablehlo.uniform_quantize %arg0 : (tensor<2xf32>) -> tensor<2x!q>
  %1 = stablehlo.add %0, %0 : tensor<2x!q>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<2x!q>) -> tensor<2xf32>
  %3 = stablehlo.constant dense<[3, -4]> : tensor<2x!q>
  %4 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi4>}> : () -> tensor<2x!quant.uniform<i4<-7:7>:f32, 2.0>>
  %5 = stablehlo.transpose %arg2, dims = [1, 0] : (tensor<2x3x!quant.uniform<ui8<1:255>:bf16:0, {1.0E-5:3, 2.5:7}>>) -> tensor<3x2x!quant.uniform<ui8<1:255>:bf16:1, {1.0E-5:3, 2.5:7}>>
  return %3 : tensor<2x!q>
}
// ---- expected
module {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<4x!quant.uniform<i8:f32, 0.5:-20>>, %arg2: tensor<2x3x!quant.uniform<u8<1:255>:bf16:0, {1.0e-5:3, 2.5:7}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>> {
    %0 = stablehlo.uniform_quantize %arg0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
    %1 = stablehlo.add %0, %0 : tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
    %2 = stablehlo.uniform_dequantize %1 : (tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2xf32>
    %3 = "stablehlo.constant"() <{value = dense<[3, -4]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
    %4 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi4>}> : () -> tensor<2x!quant.uniform<i4<-7:7>:f32, 2.0>>
    %5 = stablehlo.transpose %arg2, dims = [1, 0] : (tensor<2x3x!quant.uniform<u8<1:255>:bf16:0, {1.0e-5:3, 2.5:7}>>) -> tensor<3x2x!quant.uniform<u8<1:255>:bf16:1, {1.0e-5:3, 2.5:7}>>
    return %3 : tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
  }
}
