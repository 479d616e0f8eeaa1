func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %p: tensor<4xi1>, %s: tensor<f32>) {
  %0 = "stablehlo.abs"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  %2 = "stablehlo.convert"(%arg0) : (tensor<4xf32>) -> tensor<4xbf16>
  %3 = stablehlo.convert %arg0 : tensor<4xf32>
  %4 = "stablehlo.compare"(%arg0, %arg1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %5 = stablehlo.compare NE, %arg0, %arg1, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %6 = "stablehlo.select"(%p, %arg0, %arg1) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = stablehlo.clamp %s, %arg0, %s : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %8 = stablehlo.clamp %arg0, %arg0, %arg1 : tensor<4xf32>
  %9 = "stablehlo.complex"(%arg0, %arg1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %10 = "stablehlo.real"(%9) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %11 = stablehlo.is_finite %arg0 : (tensor<4xf32>) -> tensor<4xi1>
  %12 = "stablehlo.reduce_precision"(%arg0) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  %13 = stablehlo.bitcast_convert %arg0 : (tensor<4xf32>) -> tensor<4xi32>
  %14 = "chlo.erf_inv"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %15 = chlo.next_after %arg0, %arg1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}
// ---- expected
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xi1>, %arg3: tensor<f32>) {
    %0 = stablehlo.abs %arg0 : tensor<4xf32>
    %1 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    %2 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xbf16>
    %3 = stablehlo.convert %arg0 : tensor<4xf32>
    %4 = stablehlo.compare LT, %arg0, %arg1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %5 = stablehlo.compare NE, %arg0, %arg1, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %6 = stablehlo.select %arg2, %arg0, %arg1 : tensor<4xi1>, tensor<4xf32>
    %7 = stablehlo.clamp %arg3, %arg0, %arg3 : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %8 = stablehlo.clamp %arg0, %arg0, %arg1 : tensor<4xf32>
    %9 = stablehlo.complex %arg0, %arg1 : tensor<4xcomplex<f32>>
    %10 = stablehlo.real %9 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %11 = stablehlo.is_finite %arg0 : (tensor<4xf32>) -> tensor<4xi1>
    %12 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<4xf32>
    %13 = stablehlo.bitcast_convert %arg0 : (tensor<4xf32>) -> tensor<4xi32>
    %14 = chlo.erf_inv %arg0 : tensor<4xf32> -> tensor<4xf32>
    %15 = chlo.next_after %arg0, %arg1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    return
  }
}
