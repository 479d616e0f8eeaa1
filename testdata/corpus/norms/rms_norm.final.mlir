module @jit_rms_norm attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, %arg1: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"Y"}]>}) -> (tensor<8x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
    %0 = chlo.square %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : tensor<8x16xf32> -> tensor<8x16xf32>
    %1 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8xf32>) -> tensor<8x1xf32>
    %4 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<f32>) -> tensor<8x1xf32>
    %6 = stablehlo.divide %3, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x1xf32>
    %7 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<f32>) -> tensor<8x1xf32>
    %9 = stablehlo.add %6, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x1xf32>
    %10 = stablehlo.rsqrt %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<8x1xf32>) -> tensor<8x16xf32>
    %12 = stablehlo.multiply %arg0, %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : tensor<8x16xf32>
    %13 = stablehlo.broadcast_in_dim %arg1, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"Y"}]>]>} : (tensor<16xf32>) -> tensor<1x16xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<1x16xf32>) -> tensor<8x16xf32>
    %15 = stablehlo.multiply %12, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : tensor<8x16xf32>
    return %15 : tensor<8x16xf32>
  }
}
