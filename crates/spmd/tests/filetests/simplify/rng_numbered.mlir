// An `rng` without a number gets one that no other `rng` has.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %shape = stablehlo.constant dense<8> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  %1 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM {shardwise.stream = 0 : i64} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<f32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.constant dense<8> : tensor<1xi64>
    %1 = stablehlo.rng %arg0, %arg1, %0, distribution = UNIFORM {shardwise.stream = 1 : i64} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
    %2 = stablehlo.rng %arg0, %arg1, %0, distribution = UNIFORM {shardwise.stream = 0 : i64} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<8xf32>
    %3 = stablehlo.subtract %1, %2 : tensor<8xf32>
    return %3 : tensor<8xf32>
  }
}
