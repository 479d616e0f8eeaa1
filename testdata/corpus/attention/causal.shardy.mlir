module @jit_causal attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg1: tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg2: tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}) -> (tensor<4x8x4x8xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x8xf32>, tensor<4x8x4x8xf32>) -> tensor<4x4x8x8xf32>
    %1 = sdy.constant dense<4.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %3 = stablehlo.divide %0, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %4 = sdy.constant dense<true> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %6 = sdy.named_computation<"tril">(%5) (%arg3: tensor<8x8xi1>) {
      %27 = sdy.data_flow_edge %arg3 : tensor<8x8xi1>
      %28 = stablehlo.iota dim = 0 : tensor<8x8xi32>
      %29 = sdy.constant dense<0> : tensor<i32>
      %30 = stablehlo.broadcast_in_dim %29, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
      %31 = stablehlo.add %28, %30 : tensor<8x8xi32>
      %32 = stablehlo.iota dim = 1 : tensor<8x8xi32>
      %33 = stablehlo.compare GE, %31, %32, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
      %34 = sdy.constant dense<false> : tensor<i1>
      %35 = stablehlo.broadcast_in_dim %34, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
      %36 = stablehlo.select %33, %27, %35 : tensor<8x8xi1>, tensor<8x8xi1>
      sdy.return %36 : tensor<8x8xi1>
    } : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %7 = sdy.data_flow_edge %6 : tensor<8x8xi1>
    %8 = sdy.constant dense<-1.000000e+09> : tensor<f32>
    %9 = sdy.named_computation<"_where">(%7, %3, %8) (%arg3: tensor<8x8xi1>, %arg4: tensor<4x4x8x8xf32>, %arg5: tensor<f32>) {
      %27 = sdy.data_flow_edge %arg3 : tensor<8x8xi1>
      %28 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
      %29 = sdy.data_flow_edge %arg5 : tensor<f32>
      %30 = stablehlo.convert %29 : tensor<f32>
      %31 = stablehlo.broadcast_in_dim %27, dims = [2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<8x8xi1>) -> tensor<4x4x8x8xi1>
      %32 = stablehlo.broadcast_in_dim %30, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
      %33 = stablehlo.select %31, %28, %32 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
      sdy.return %33 : tensor<4x4x8x8xf32>
    } : (tensor<8x8xi1>, tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8x8xf32>
    %10 = sdy.data_flow_edge %9 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
    %11 = sdy.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.reduce(%10 init: %11) applies stablehlo.maximum across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %13 = sdy.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8xf32>
    %15 = stablehlo.maximum %14, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : tensor<4x4x8xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %18 = stablehlo.subtract %10, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %19 = stablehlo.exponential %18 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %20 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%19 init: %20) applies stablehlo.add across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %24 = stablehlo.divide %19, %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %25 = stablehlo.dot_general %arg2, %24, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>
    %26 = stablehlo.transpose %25, dims = [0, 3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>) -> tensor<4x8x4x8xf32>
    return %26 : tensor<4x8x4x8xf32>
  }
}
