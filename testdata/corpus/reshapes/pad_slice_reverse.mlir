module @jit_pad_slice_reverse attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<12x29xi32> {jax.result_info = "result[0]"}, tensor<4x8xi32> {jax.result_info = "result[1]"}, tensor<8x16xi32> {jax.result_info = "result[2]"}, tensor<6x16xi32> {jax.result_info = "result[3]"}) {
    %c = stablehlo.constant dense<7> : tensor<i32>
    %0 = stablehlo.pad %arg0, %c, low = [1, 0], high = [3, -2], interior = [0, 1] : (tensor<8x16xi32>, tensor<i32>) -> tensor<12x29xi32>
    %1 = stablehlo.slice %arg0 [2:6, 0:16:2] : (tensor<8x16xi32>) -> tensor<4x8xi32>
    %2 = stablehlo.reverse %arg0, dims = [0] : tensor<8x16xi32>
    %3 = stablehlo.slice %arg0 [1:7, 0:16] : (tensor<8x16xi32>) -> tensor<6x16xi32>
    %4 = call @_flip(%3) : (tensor<6x16xi32>) -> tensor<6x16xi32>
    return %0, %1, %2, %4 : tensor<12x29xi32>, tensor<4x8xi32>, tensor<8x16xi32>, tensor<6x16xi32>
  }
  func.func private @_flip(%arg0: tensor<6x16xi32>) -> tensor<6x16xi32> {
    %0 = stablehlo.reverse %arg0, dims = [1] : tensor<6x16xi32>
    return %0 : tensor<6x16xi32>
  }
}
