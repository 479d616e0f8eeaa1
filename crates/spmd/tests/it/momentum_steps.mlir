module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg2: tensor<128x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg3: tensor<128x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0:6 = stablehlo.while(%iterArg = %arg2, %iterArg_1 = %arg3, %iterArg_2 = %c_0, %iterArg_3 = %c, %iterArg_4 = %arg0, %iterArg_5 = %arg1) : tensor<128x64xf32>, tensor<128x16xf32>, tensor<i32>, tensor<i32>, tensor<64x16xf32>, tensor<64x16xf32>
    cond {
      %c_6 = stablehlo.constant dense<4> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg_2, %c_6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1:3 = func.call @closed_call(%iterArg, %iterArg_1, %iterArg_3, %iterArg_4, %iterArg_5) : (tensor<128x64xf32>, tensor<128x16xf32>, tensor<i32>, tensor<64x16xf32>, tensor<64x16xf32>) -> (tensor<i32>, tensor<64x16xf32>, tensor<64x16xf32>)
      %c_6 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg_2, %c_6 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_1, %2, %1#0, %1#1, %1#2 : tensor<128x64xf32>, tensor<128x16xf32>, tensor<i32>, tensor<i32>, tensor<64x16xf32>, tensor<64x16xf32>
    }
    return %0#4, %0#5 : tensor<64x16xf32>, tensor<64x16xf32>
  }
  func.func private @closed_call(%arg0: tensor<128x64xf32>, %arg1: tensor<128x16xf32>, %arg2: tensor<i32>, %arg3: tensor<64x16xf32>, %arg4: tensor<64x16xf32>) -> (tensor<i32>, tensor<64x16xf32>, tensor<64x16xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg2, %c : tensor<i32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
    %2 = stablehlo.multiply %1, %arg4 : tensor<64x16xf32>
    %3 = stablehlo.dot_general %arg0, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x64xf32>, tensor<64x16xf32>) -> tensor<128x16xf32>
    %4 = stablehlo.subtract %3, %arg1 : tensor<128x16xf32>
    %5 = stablehlo.multiply %4, %4 : tensor<128x16xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<128x16xf32>
    %7 = stablehlo.multiply %6, %4 : tensor<128x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%5 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<128x16xf32>, tensor<f32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %9 = stablehlo.divide %8, %cst_2 : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_4 = stablehlo.constant dense<2.048000e+03> : tensor<f32>
    %10 = stablehlo.divide %cst_3, %cst_4 : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<128x16xf32>
    %12 = stablehlo.multiply %11, %7 : tensor<128x16xf32>
    %13 = stablehlo.dot_general %12, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128x16xf32>, tensor<128x64xf32>) -> tensor<16x64xf32>
    %14 = stablehlo.transpose %13, dims = [1, 0] : (tensor<16x64xf32>) -> tensor<64x16xf32>
    %15 = stablehlo.add %2, %14 : tensor<64x16xf32>
    %cst_5 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
    %17 = stablehlo.multiply %16, %15 : tensor<64x16xf32>
    %18 = stablehlo.subtract %arg3, %17 : tensor<64x16xf32>
    return %0, %18, %15 : tensor<i32>, tensor<64x16xf32>, tensor<64x16xf32>
  }
}
