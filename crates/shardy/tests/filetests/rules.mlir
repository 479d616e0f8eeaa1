// run: sdy-populate-op-sharding-rules
// Of decompositions and selections that foreign functions do, too.
func.func @main(%a: tensor<8x4x4xf32>, %b: tensor<16x4xf32>, %c: tensor<f32>) -> (tensor<8x4xf32>, tensor<16x2xf32>) {
  %0:2 = stablehlo.custom_call @Eigh(%a) : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xf32>)
  %1:2 = stablehlo.custom_call @PartialReduce(%b, %b, %c, %c) : (tensor<16x4xf32>, tensor<16x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<16x2xf32>, tensor<16x2xf32>)
  %2 = stablehlo.custom_call @mine(%b) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=16, j=4} need_replication={j}, custom>} : (tensor<16x4xf32>) -> tensor<16x4xf32>
  return %0#1, %1#0 : tensor<8x4xf32>, tensor<16x2xf32>
}
// ---- expected
module {
  func.func @main(%arg0: tensor<8x4x4xf32>, %arg1: tensor<16x4xf32>, %arg2: tensor<f32>) -> (tensor<8x4xf32>, tensor<16x2xf32>) {
    %0:2 = stablehlo.custom_call @Eigh(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k], [i, k]) {i=8, j=4, k=4}>} : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xf32>)
    %1:2 = stablehlo.custom_call @PartialReduce(%arg1, %arg1, %arg2, %arg2) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j], [], [])->([i, k], [i, k]) {i=16, j=4, k=2} need_replication={k} blocked_propagation={k}>} : (tensor<16x4xf32>, tensor<16x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<16x2xf32>, tensor<16x2xf32>)
    %2 = stablehlo.custom_call @mine(%arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=16, j=4} need_replication={j}, custom>} : (tensor<16x4xf32>) -> tensor<16x4xf32>
    return %0#1, %1#0 : tensor<8x4xf32>, tensor<16x2xf32>
  }
}
