// Ops on quantized values are arithmetic on their integers.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  %1 = stablehlo.add %0, %0 : tensor<4x!quant.uniform<i8:f32, 0.5:3>>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
    %0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.divide %arg0, %1 : tensor<4xf32>
    %3 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %5 = stablehlo.add %2, %4 : tensor<4xf32>
    %6 = stablehlo.constant dense<-1.280000e+02> : tensor<f32>
    %7 = stablehlo.constant dense<1.270000e+02> : tensor<f32>
    %8 = stablehlo.clamp %6, %5, %7 : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %9 = stablehlo.round_nearest_even %8 : tensor<4xf32>
    %10 = stablehlo.convert %9 : (tensor<4xf32>) -> tensor<4xi8>
    %11 = stablehlo.convert %10 : (tensor<4xi8>) -> tensor<4xi32>
    %12 = stablehlo.constant dense<3> : tensor<i32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %14 = stablehlo.subtract %11, %13 : tensor<4xi32>
    %15 = stablehlo.convert %14 : (tensor<4xi32>) -> tensor<4xf32>
    %16 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %18 = stablehlo.multiply %15, %17 : tensor<4xf32>
    %19 = stablehlo.convert %10 : (tensor<4xi8>) -> tensor<4xi32>
    %20 = stablehlo.constant dense<3> : tensor<i32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %22 = stablehlo.subtract %19, %21 : tensor<4xi32>
    %23 = stablehlo.convert %22 : (tensor<4xi32>) -> tensor<4xf32>
    %24 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %26 = stablehlo.multiply %23, %25 : tensor<4xf32>
    %27 = stablehlo.add %18, %26 : tensor<4xf32>
    %28 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %30 = stablehlo.divide %27, %29 : tensor<4xf32>
    %31 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %33 = stablehlo.add %30, %32 : tensor<4xf32>
    %34 = stablehlo.constant dense<-1.280000e+02> : tensor<f32>
    %35 = stablehlo.constant dense<1.270000e+02> : tensor<f32>
    %36 = stablehlo.clamp %34, %33, %35 : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %37 = stablehlo.round_nearest_even %36 : tensor<4xf32>
    %38 = stablehlo.convert %37 : (tensor<4xf32>) -> tensor<4xi8>
    %39 = stablehlo.convert %38 : (tensor<4xi8>) -> tensor<4xi32>
    %40 = stablehlo.constant dense<3> : tensor<i32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %42 = stablehlo.subtract %39, %41 : tensor<4xi32>
    %43 = stablehlo.convert %42 : (tensor<4xi32>) -> tensor<4xf32>
    %44 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %46 = stablehlo.multiply %43, %45 : tensor<4xf32>
    return %46 : tensor<4xf32>
  }
}
