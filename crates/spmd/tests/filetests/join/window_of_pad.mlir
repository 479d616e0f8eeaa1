// The gradient of an average over windows of 2x2: a padding of holes is the windows' own.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<2x32x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}) -> (tensor<2x64x32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %a, %c, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 1, 1, 0] : (tensor<2x32x16x8xf32>, tensor<f32>) -> tensor<2x65x33x8xf32>
  %0 = "stablehlo.reduce_window"(%p, %c) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x65x33x8xf32>, tensor<f32>) -> tensor<2x64x32x8xf32>
  return %0 : tensor<2x64x32x8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<2x32x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}) -> (tensor<2x64x32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 1, 1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x", ?}, {?}, {?}]>]>} : (tensor<2x32x16x8xf32>, tensor<f32>) -> tensor<2x65x33x8xf32>
    %2 = "stablehlo.reduce_window"(%1, %0) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x", ?}, {?}, {?}]>]>} : (tensor<2x65x33x8xf32>, tensor<f32>) -> tensor<2x64x32x8xf32>
    return %2 : tensor<2x64x32x8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<2x32x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}) -> (tensor<2x64x32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x", ?}, {?}, {?}]>]>} : (tensor<2x32x16x8xf32>, tensor<f32>) -> tensor<2x64x32x8xf32>
    return %1 : tensor<2x64x32x8xf32>
  }
}
