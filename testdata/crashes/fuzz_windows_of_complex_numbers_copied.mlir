// runs
func.func @main(%a: tensor<8xcomplex<f64>>, %v: tensor<complex<f64>>) -> (tensor<4xcomplex<f64>>, tensor<2xcomplex<f32>>) {
  %0 = "stablehlo.reduce_window"(%a, %v) <{window_dimensions = array<i64: 5>}> ({
  ^bb0(%p: tensor<complex<f64>>, %q: tensor<complex<f64>>):
    stablehlo.return %p : tensor<complex<f64>>
  }) : (tensor<8xcomplex<f64>>, tensor<complex<f64>>) -> tensor<4xcomplex<f64>>
  %1 = stablehlo.convert %a : (tensor<8xcomplex<f64>>) -> tensor<8xcomplex<f32>>
  %2 = stablehlo.reshape %1 : (tensor<8xcomplex<f32>>) -> tensor<4x2xcomplex<f32>>
  %3 = stablehlo.convert %v : (tensor<complex<f64>>) -> tensor<complex<f32>>
  %4 = "stablehlo.reduce"(%2, %3) <{dimensions = array<i64: 0>}> ({
  ^bb0(%p: tensor<complex<f32>>, %q: tensor<complex<f32>>):
    stablehlo.return %q : tensor<complex<f32>>
  }) : (tensor<4x2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  return %0, %4 : tensor<4xcomplex<f64>>, tensor<2xcomplex<f32>>
}
