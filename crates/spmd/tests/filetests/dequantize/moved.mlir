// Ops that move elements move the integers.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<2x4xf32> {
  %0 = stablehlo.uniform_quantize %a : (tensor<4x2xf32>) -> tensor<4x2x!quant.uniform<i8:f32, 0.5:3>>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<2x4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<2x4xf32> {
    %0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x2xf32>
    %2 = stablehlo.divide %arg0, %1 : tensor<4x2xf32>
    %3 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<4x2xf32>
    %5 = stablehlo.add %2, %4 : tensor<4x2xf32>
    %6 = stablehlo.constant dense<-1.280000e+02> : tensor<f32>
    %7 = stablehlo.constant dense<1.270000e+02> : tensor<f32>
    %8 = stablehlo.clamp %6, %5, %7 : (tensor<f32>, tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %9 = stablehlo.round_nearest_even %8 : tensor<4x2xf32>
    %10 = stablehlo.convert %9 : (tensor<4x2xf32>) -> tensor<4x2xi8>
    %11 = stablehlo.transpose %10, dims = [1, 0] : (tensor<4x2xi8>) -> tensor<2x4xi8>
    %12 = stablehlo.convert %11 : (tensor<2x4xi8>) -> tensor<2x4xi32>
    %13 = stablehlo.constant dense<3> : tensor<i32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %15 = stablehlo.subtract %12, %14 : tensor<2x4xi32>
    %16 = stablehlo.convert %15 : (tensor<2x4xi32>) -> tensor<2x4xf32>
    %17 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %19 = stablehlo.multiply %16, %18 : tensor<2x4xf32>
    return %19 : tensor<2x4xf32>
  }
}
