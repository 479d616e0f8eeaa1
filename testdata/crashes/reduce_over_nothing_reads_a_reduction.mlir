// runs
func.func @main(%arg0: tensor<f32>, %w: tensor<ui8>) -> tensor<2xui32> {
  %x = stablehlo.constant dense<[40.0, 1.0]> : tensor<2xf32>
  %0 = stablehlo.reduce(%x init: %arg0) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.convert %0 : (tensor<f32>) -> tensor<f16>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f16>) -> tensor<1xf16>
  %z = stablehlo.constant dense<0.0> : tensor<1xf16>
  %p = stablehlo.compare GT, %2, %z : (tensor<1xf16>, tensor<1xf16>) -> tensor<1xi1>
  %f = stablehlo.convert %p : (tensor<1xi1>) -> tensor<1xf16>
  %g = stablehlo.convert %f : (tensor<1xf16>) -> tensor<1xui8>
  %k = stablehlo.reshape %g : (tensor<1xui8>) -> tensor<ui8>
  %e = stablehlo.convert %k : (tensor<ui8>) -> tensor<ui32>
  %cc = stablehlo.broadcast_in_dim %w, dims = [] : (tensor<ui8>) -> tensor<2xui8>
  %dd = stablehlo.constant dense<2> : tensor<2xui8>
 %ee = stablehlo.maximum %cc, %dd : tensor<2xui8>
 %c = stablehlo.convert %ee : (tensor<2xui8>) -> tensor<2xui32>
  %r = stablehlo.reduce(%c init: %e) applies stablehlo.minimum across dimensions = [] : (tensor<2xui32>, tensor<ui32>) -> tensor<2xui32>
  return %r : tensor<2xui32>
}
