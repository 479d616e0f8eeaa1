// The padding of values is read back.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<8x4xf32> {shardwise.padding = [{dim = 0 : i64, size = 5 : i64}, {dim = 1 : i64, holds = dense<0xFF800000> : tensor<f32>, size = 0 : i64}]}) -> tensor<8xi32> {
  %0:2 = "stablehlo.optimization_barrier"(%arg0, %arg0) {shardwise.padding = ["?", [{dim = 1 : i64, size = 3 : i64}]]} : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  %1 = stablehlo.iota dim = 0 {shardwise.padding = [[{dim = 0 : i64, holds = dense<7> : tensor<i32>, size = 5 : i64}]]} : tensor<8xi32>
  %2 = stablehlo.while(%arg1 = %1) : tensor<8xi32> attributes {shardwise.arg_padding = [["?"], [[{dim = 0 : i64, size = 5 : i64}]]]} cond {
    %4 = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %4 : tensor<i1>
  } do {
    stablehlo.return %arg1 : tensor<8xi32>
  }
  return %2 : tensor<8xi32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<8x4xf32> {shardwise.padding = [{dim = 0 : i64, size = 5 : i64}, {dim = 1 : i64, holds = dense<0xFF800000> : tensor<f32>, size = 0 : i64}]}) -> tensor<8xi32> {
    %0:2 = stablehlo.optimization_barrier {shardwise.padding = ["?", [{dim = 1 : i64, size = 3 : i64}]]} %arg0, %arg0 : tensor<8x4xf32>, tensor<8x4xf32>
    %1 = stablehlo.iota dim = 0 {shardwise.padding = [[{dim = 0 : i64, holds = dense<7> : tensor<i32>, size = 5 : i64}]]} : tensor<8xi32>
    %2 = stablehlo.while(%arg1 = %1) : tensor<8xi32> attributes {shardwise.arg_padding = [["?"], [[{dim = 0 : i64, size = 5 : i64}]]]}
    cond {
      %3 = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      stablehlo.return %arg1 : tensor<8xi32>
    }
    return %2 : tensor<8xi32>
  }
}
