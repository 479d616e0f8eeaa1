module @jit_block_sums attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<4x2xi32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
    %0 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {"Y"}, {}]>]>} : (tensor<8x16xi32>) -> tensor<4x2x2x8xi32>
    %1 = sdy.constant dense<0> : tensor<i32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<4x2x2x8xi32>, tensor<i32>) -> tensor<4x2xi32>
    return %2 : tensor<4x2xi32>
  }
}
