module @jit_dynamic_slices attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}, %arg2: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) -> (tensor<8x4xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}]>}, tensor<8x16xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}) {
    %0 = sdy.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = sdy.constant dense<16> : tensor<i32>
    %3 = stablehlo.add %arg1, %2 : tensor<i32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<i1>, tensor<i32>
    %5 = sdy.constant dense<0> : tensor<i32>
    %6 = stablehlo.dynamic_slice %arg0, %5, %4, sizes = [8, 4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    %7 = sdy.constant dense<0> : tensor<i32>
    %8 = stablehlo.compare LT, %arg1, %7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9 = sdy.constant dense<16> : tensor<i32>
    %10 = stablehlo.add %arg1, %9 : tensor<i32>
    %11 = stablehlo.select %8, %10, %arg1 : tensor<i1>, tensor<i32>
    %12 = sdy.constant dense<0> : tensor<i32>
    %13 = stablehlo.dynamic_update_slice %arg0, %arg2, %12, %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xf32>, tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
    return %6, %13 : tensor<8x4xf32>, tensor<8x16xf32>
  }
}
