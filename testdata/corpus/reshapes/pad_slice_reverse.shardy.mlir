module @jit_pad_slice_reverse attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<12x29xi32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}, tensor<4x8xi32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}, tensor<8x16xi32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}, tensor<6x16xi32> {jax.result_info = "result[3]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}) {
    %0 = sdy.constant dense<7> : tensor<i32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 0], high = [3, -2], interior = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xi32>, tensor<i32>) -> tensor<12x29xi32>
    %2 = stablehlo.slice %arg0 [2:6, 0:16:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xi32>) -> tensor<4x8xi32>
    %3 = stablehlo.reverse %arg0, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xi32>
    %4 = stablehlo.slice %arg0 [1:7, 0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xi32>) -> tensor<6x16xi32>
    %5 = sdy.named_computation<"_flip">(%4) (%arg1: tensor<6x16xi32>) {
      %7 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<6x16xi32>
      %8 = stablehlo.reverse %7, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<6x16xi32>
      sdy.return %8 : tensor<6x16xi32>
    } : (tensor<6x16xi32>) -> tensor<6x16xi32>
    %6 = sdy.data_flow_edge %5 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<6x16xi32>
    return %1, %2, %3, %6 : tensor<12x29xi32>, tensor<4x8xi32>, tensor<8x16xi32>, tensor<6x16xi32>
  }
}
