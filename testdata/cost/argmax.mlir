// calls: 20
module {
 func.func public @main(%x: tensor<256x128xf32>) -> tensor<256xi32> {
  %i = stablehlo.iota dim = 1 : tensor<256x128xi32>
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %d = stablehlo.constant dense<0> : tensor<i32>
  %3:2 = stablehlo.reduce(%x init: %c), (%i init: %d) across dimensions = [1] : (tensor<256x128xf32>, tensor<256x128xi32>, tensor<f32>, tensor<i32>) -> (tensor<256xf32>, tensor<256xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %4 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %11 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %12 = stablehlo.select %4, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %11, %12 : tensor<f32>, tensor<i32>
    }
  return %3#1 : tensor<256xi32>
 }
}
