// runs
// A select_and_scatter that takes maxima is not linear in its source, but says so: 3 instead of 1 with [dense<1.0> : tensor<4xf32>, dense<[[3.,-2.]]> : tensor<1x2xf32>, dense<1.0> : tensor<2x2xf32>].
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4xf32>, %p: tensor<1x2xf32> {sdy.sharding = #sdy.sharding<@m, [{},{"x"}]>}, %q: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"},{}]>}) -> tensor<4xf32> {
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot %p, %q {sdy.sharding = #sdy.sharding_per_value<[<@m, [{},{}], unreduced={"x"}>]>} : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %u = stablehlo.reshape %0 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}], unreduced={"x"}>]>} : (tensor<1x2xf32>) -> tensor<2xf32>
  %r = "stablehlo.select_and_scatter"(%a, %u, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = stablehlo.compare GE, %arg3, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = stablehlo.maximum %arg3, %arg4 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}], unreduced={"x"}>]>} : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
