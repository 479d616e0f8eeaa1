module @jit_integer_matmul attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, %arg1: tensor<16x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"Y"}, {}]>}) -> (tensor<8x8xi32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xi32>, tensor<16x8xi32>) -> tensor<8x8xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<8x16xi32>, tensor<i32>) -> tensor<8xi32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x8xi32>
    %4 = stablehlo.subtract %0, %3 : tensor<8x8xi32>
    return %4 : tensor<8x8xi32>
  }
}
