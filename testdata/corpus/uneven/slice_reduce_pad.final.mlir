module @jit_slice_reduce_pad attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<5xi32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<7xi32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8x8xi32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
    %0 = stablehlo.slice %arg0 [1:8, 2:7] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<8x8xi32>) -> tensor<7x5xi32>
    %1 = sdy.reshard %0 <@mesh, [{"X"}, {"Y"}]> : tensor<7x5xi32>
    %2 = sdy.constant dense<0> : tensor<i32>
    %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"Y"}]>]>} : (tensor<7x5xi32>, tensor<i32>) -> tensor<5xi32>
    %4 = sdy.constant dense<-2147483648> : tensor<i32>
    %5 = stablehlo.reduce(%1 init: %4) applies stablehlo.maximum across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<7x5xi32>, tensor<i32>) -> tensor<7xi32>
    %6 = sdy.constant dense<2> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<i32>) -> tensor<7x5xi32>
    %8 = stablehlo.multiply %1, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : tensor<7x5xi32>
    %9 = sdy.reshard %8 <@mesh, [{}, {}]> : tensor<7x5xi32>
    %10 = call @_pad(%9, %2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<7x5xi32>, tensor<i32>) -> tensor<8x8xi32>
    return %3, %5, %10 : tensor<5xi32>, tensor<7xi32>, tensor<8x8xi32>
  }
  func.func private @_pad(%arg0: tensor<7x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 2], high = [0, 1], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<7x5xi32>, tensor<i32>) -> tensor<8x8xi32>
    return %1 : tensor<8x8xi32>
  }
}
