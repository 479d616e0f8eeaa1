// A shift: a padding of which a part is taken.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %v = stablehlo.constant dense<5.0> : tensor<f32>
  %0 = stablehlo.pad %a, %v, low = [1, 0], high = [1, 2], interior = [0, 0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<18x6xf32>
  %1 = stablehlo.slice %0 [0:16, 2:6] : (tensor<18x6xf32>) -> tensor<16x4xf32>
  return %1 : tensor<16x4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 0], high = [1, 2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<16x4xf32>, tensor<f32>) -> tensor<18x6xf32>
    %2 = stablehlo.slice %1 [0:16, 2:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<18x6xf32>) -> tensor<16x4xf32>
    return %2 : tensor<16x4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [1, -2], high = [-1, 2], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xf32>
    return %1 : tensor<16x4xf32>
  }
}
