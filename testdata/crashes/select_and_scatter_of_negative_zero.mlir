// runs
// A select_and_scatter on windows adds +0 from windows that do not exist to a -0: with [dense<[1.,2.,3.,4.,5.,6.,7.,8.]> : tensor<8xf32>, dense<-0.0> : tensor<3xf32>, dense<-0.0> : tensor<f32>].
sdy.mesh @m = <["x"=2]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = stablehlo.compare GE, %arg3, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
  %o = stablehlo.constant dense<1.0> : tensor<8xf32>
  %r = stablehlo.divide %o, %0 : tensor<8xf32>
  return %r : tensor<8xf32>
}
