module @jit_sort_rows attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<8x16xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}, tensor<8x16xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}) {
    %0 = sdy.named_computation<"sort">(%arg0) (%arg1: tensor<8x16xf32>) {
      %4 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
      %5 = "stablehlo.sort"(%4) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
        %6 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %7 = stablehlo.compare EQ, %arg2, %6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %8 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %9 = stablehlo.select %7, %8, %arg2 : tensor<i1>, tensor<f32>
        %10 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %11 = sdy.constant dense<0x7FC00000> : tensor<f32>
        %12 = stablehlo.select %10, %11, %9 : tensor<i1>, tensor<f32>
        %13 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %14 = stablehlo.compare EQ, %arg3, %13, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %15 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %16 = stablehlo.select %14, %15, %arg3 : tensor<i1>, tensor<f32>
        %17 = stablehlo.compare NE, %arg3, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %18 = sdy.constant dense<0x7FC00000> : tensor<f32>
        %19 = stablehlo.select %17, %18, %16 : tensor<i1>, tensor<f32>
        %20 = stablehlo.compare LT, %12, %19, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %20 : tensor<i1>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xf32>) -> tensor<8x16xf32>
      sdy.return %5 : tensor<8x16xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
    %2 = sdy.named_computation<"sort_0">(%arg0) (%arg1: tensor<8x16xf32>) {
      %4 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
      %5 = "stablehlo.sort"(%4) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
        %7 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %8 = stablehlo.compare EQ, %arg2, %7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %9 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %10 = stablehlo.select %8, %9, %arg2 : tensor<i1>, tensor<f32>
        %11 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %12 = sdy.constant dense<0x7FC00000> : tensor<f32>
        %13 = stablehlo.select %11, %12, %10 : tensor<i1>, tensor<f32>
        %14 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %15 = stablehlo.compare EQ, %arg3, %14, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %16 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %17 = stablehlo.select %15, %16, %arg3 : tensor<i1>, tensor<f32>
        %18 = stablehlo.compare NE, %arg3, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %19 = sdy.constant dense<0x7FC00000> : tensor<f32>
        %20 = stablehlo.select %18, %19, %17 : tensor<i1>, tensor<f32>
        %21 = stablehlo.compare LT, %13, %20, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %21 : tensor<i1>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xf32>) -> tensor<8x16xf32>
      %6 = stablehlo.reverse %5, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xf32>
      sdy.return %6 : tensor<8x16xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %3 = sdy.data_flow_edge %2 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
    return %1, %3 : tensor<8x16xf32>, tensor<8x16xf32>
  }
}
