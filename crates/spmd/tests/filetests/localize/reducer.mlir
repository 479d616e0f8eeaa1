// Shardy's ops are replaced in reducers too.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce"(%a, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %two = sdy.constant dense<2.0> : tensor<f32>
    %1 = stablehlo.multiply %p, %two : tensor<f32>
    %2 = stablehlo.add %1, %q : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
     reducer(%arg1: tensor<f32>, %arg2: tensor<f32>) {
      %2 = sdy.constant dense<2.000000e+00> : tensor<f32>
      %3 = stablehlo.multiply %arg1, %2 : tensor<f32>
      %4 = stablehlo.add %3, %arg2 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }
    return %1 : tensor<8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<8x4xf32>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<8xf32>}) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
     reducer(%arg1: tensor<f32>, %arg2: tensor<f32>) {
      %2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %3 = stablehlo.multiply %arg1, %2 : tensor<f32>
      %4 = stablehlo.add %3, %arg2 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }
    return %1 : tensor<4xf32>
  }
}
