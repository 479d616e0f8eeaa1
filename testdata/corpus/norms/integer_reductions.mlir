module @jit_integer_reductions attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {"Y"}]>}) -> (tensor<4x16xi32> {jax.result_info = "result[0]"}, tensor<4xi32> {jax.result_info = "result[1]"}, tensor<i32> {jax.result_info = "result[2]"}, tensor<8xi32> {jax.result_info = "result[3]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8x4x16xi32>, tensor<i32>) -> tensor<4x16xi32>
    %c_0 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %1 = stablehlo.reduce(%arg0 init: %c_0) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<8x4x16xi32>, tensor<i32>) -> tensor<4xi32>
    %c_1 = stablehlo.constant dense<2147483647> : tensor<i32>
    %2 = stablehlo.reduce(%arg0 init: %c_1) applies stablehlo.minimum across dimensions = [0, 1, 2] : (tensor<8x4x16xi32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.slice %arg0 [0:8, 0:1, 0:16] : (tensor<8x4x16xi32>) -> tensor<8x1x16xi32>
    %4 = stablehlo.reshape %3 : (tensor<8x1x16xi32>) -> tensor<8x16xi32>
    %c_2 = stablehlo.constant dense<1> : tensor<i32>
    %5 = stablehlo.reduce(%4 init: %c_2) applies stablehlo.multiply across dimensions = [1] : (tensor<8x16xi32>, tensor<i32>) -> tensor<8xi32>
    return %0, %1, %2, %5 : tensor<4x16xi32>, tensor<4xi32>, tensor<i32>, tensor<8xi32>
  }
}
