module @jit_cond_of_matmuls attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<i1> {sdy.sharding = #sdy.sharding<@mesh, []>}, %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}, %arg2: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}) -> (tensor<8x8xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}) {
    %0 = stablehlo.convert %arg0 : (tensor<i1>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %3 = stablehlo.slice %arg1 [0:8, 0:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xf32>) -> tensor<8x8xf32>
      %4 = sdy.constant dense<2.000000e+00> : tensor<f32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<f32>) -> tensor<8x8xf32>
      %6 = stablehlo.multiply %3, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x8xf32>
      stablehlo.return %6 : tensor<8x8xf32>
    }, {
      %3 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
      %4 = sdy.named_computation<"relu">(%3) (%arg3: tensor<8x8xf32>) {
        %6 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x8xf32>
        %7 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %8 = stablehlo.broadcast_in_dim %7, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<f32>) -> tensor<8x8xf32>
        %9 = stablehlo.maximum %6, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x8xf32>
        sdy.return %9 : tensor<8x8xf32>
      } : (tensor<8x8xf32>) -> tensor<8x8xf32>
      %5 = sdy.data_flow_edge %4 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x8xf32>
      stablehlo.return %5 : tensor<8x8xf32>
    }) : (tensor<i32>) -> tensor<8x8xf32>
    %2 = sdy.data_flow_edge %1 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}
