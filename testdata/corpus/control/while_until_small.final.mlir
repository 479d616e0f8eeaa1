module @jit_while_until_small attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<8x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
    %0 = stablehlo.while(%iterArg = %arg0) : tensor<8x16xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>}
    cond {
      %1 = stablehlo.abs %iterArg {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : tensor<8x16xf32>
      %2 = sdy.constant dense<0xFF800000> : tensor<f32>
      %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
      %4 = sdy.constant dense<2.500000e-01> : tensor<f32>
      %5 = stablehlo.compare GT, %3, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %1 = sdy.constant dense<2.000000e+00> : tensor<f32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<f32>) -> tensor<8x16xf32>
      %3 = stablehlo.divide %iterArg, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : tensor<8x16xf32>
      stablehlo.return %3 : tensor<8x16xf32>
    }
    return %0 : tensor<8x16xf32>
  }
}
