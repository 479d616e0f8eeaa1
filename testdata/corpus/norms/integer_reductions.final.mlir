module @jit_integer_reductions attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {"Y"}]>}) -> (tensor<4x16xi32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}, tensor<4xi32> {jax.result_info = "result[1]"}, tensor<i32> {jax.result_info = "result[2]"}, tensor<8xi32> {jax.result_info = "result[3]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}]>}) {
    %0 = sdy.constant dense<0> : tensor<i32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"Y"}]>]>} : (tensor<8x4x16xi32>, tensor<i32>) -> tensor<4x16xi32>
    %2 = sdy.constant dense<-2147483648> : tensor<i32>
    %3 = stablehlo.reduce(%arg0 init: %2) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<8x4x16xi32>, tensor<i32>) -> tensor<4xi32>
    %4 = sdy.constant dense<2147483647> : tensor<i32>
    %5 = stablehlo.reduce(%arg0 init: %4) applies stablehlo.minimum across dimensions = [0, 1, 2] : (tensor<8x4x16xi32>, tensor<i32>) -> tensor<i32>
    %6 = stablehlo.slice %arg0 [0:8, 0:1, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {"Y"}]>]>} : (tensor<8x4x16xi32>) -> tensor<8x1x16xi32>
    %7 = stablehlo.reshape %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<8x1x16xi32>) -> tensor<8x16xi32>
    %8 = sdy.constant dense<1> : tensor<i32>
    %9 = stablehlo.reduce(%7 init: %8) applies stablehlo.multiply across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<8x16xi32>, tensor<i32>) -> tensor<8xi32>
    return %1, %3, %5, %9 : tensor<4x16xi32>, tensor<4xi32>, tensor<i32>, tensor<8xi32>
  }
}
