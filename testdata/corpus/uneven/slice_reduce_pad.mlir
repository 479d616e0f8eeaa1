module @jit_slice_reduce_pad attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<5xi32> {jax.result_info = "result[0]"}, tensor<7xi32> {jax.result_info = "result[1]"}, tensor<8x8xi32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.slice %arg0 [1:8, 2:7] : (tensor<8x8xi32>) -> tensor<7x5xi32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"X"}, {"Y"}]> : tensor<7x5xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<7x5xi32>, tensor<i32>) -> tensor<5xi32>
    %c_0 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %3 = stablehlo.reduce(%1 init: %c_0) applies stablehlo.maximum across dimensions = [1] : (tensor<7x5xi32>, tensor<i32>) -> tensor<7xi32>
    %c_1 = stablehlo.constant dense<2> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<7x5xi32>
    %5 = stablehlo.multiply %1, %4 : tensor<7x5xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = call @_pad(%5, %c_2) : (tensor<7x5xi32>, tensor<i32>) -> tensor<8x8xi32>
    return %2, %3, %6 : tensor<5xi32>, tensor<7xi32>, tensor<8x8xi32>
  }
  func.func private @_pad(%arg0: tensor<7x5xi32>, %arg1: tensor<i32>) -> tensor<8x8xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 2], high = [0, 1], interior = [0, 0] : (tensor<7x5xi32>, tensor<i32>) -> tensor<8x8xi32>
    return %1 : tensor<8x8xi32>
  }
}
