module @jit_decode_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}, {}]>}, %arg1: tensor<4x16x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg2: tensor<4x16x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg3: tensor<4x1x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg4: tensor<4x1x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg5: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<4x4x8xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"data", ?}, {"model", ?}, {?}]>}, tensor<4x16x4x8xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>}, tensor<4x16x4x8xf32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>}) {
    %0 = sdy.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare LT, %arg5, %0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = sdy.constant dense<16> : tensor<i32>
    %3 = stablehlo.add %arg5, %2 : tensor<i32>
    %4 = stablehlo.select %1, %3, %arg5 : tensor<i1>, tensor<i32>
    %5 = sdy.constant dense<0> : tensor<i32>
    %6 = sdy.constant dense<0> : tensor<i32>
    %7 = sdy.constant dense<0> : tensor<i32>
    %8 = stablehlo.dynamic_update_slice %arg1, %arg3, %5, %4, %6, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x16x4x8xf32>, tensor<4x1x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x4x8xf32>
    %9 = sdy.constant dense<0> : tensor<i32>
    %10 = stablehlo.compare LT, %arg5, %9, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %11 = sdy.constant dense<16> : tensor<i32>
    %12 = stablehlo.add %arg5, %11 : tensor<i32>
    %13 = stablehlo.select %10, %12, %arg5 : tensor<i1>, tensor<i32>
    %14 = sdy.constant dense<0> : tensor<i32>
    %15 = sdy.constant dense<0> : tensor<i32>
    %16 = sdy.constant dense<0> : tensor<i32>
    %17 = stablehlo.dynamic_update_slice %arg2, %arg4, %14, %13, %15, %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x16x4x8xf32>, tensor<4x1x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x4x8xf32>
    %18 = stablehlo.dot_general %arg0, %8, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8xf32>, tensor<4x16x4x8xf32>) -> tensor<4x4x16xf32>
    %19 = stablehlo.iota dim = 0 : tensor<16xi32>
    %20 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %21 = stablehlo.compare LE, %19, %20, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %22 = sdy.constant dense<-1.000000e+09> : tensor<f32>
    %23 = sdy.named_computation<"_where">(%21, %18, %22) (%arg6: tensor<16xi1>, %arg7: tensor<4x4x16xf32>, %arg8: tensor<f32>) {
      %40 = sdy.data_flow_edge %arg6 : tensor<16xi1>
      %41 = sdy.data_flow_edge %arg7 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}]> : tensor<4x4x16xf32>
      %42 = sdy.data_flow_edge %arg8 : tensor<f32>
      %43 = stablehlo.convert %42 : tensor<f32>
      %44 = stablehlo.broadcast_in_dim %40, dims = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<16xi1>) -> tensor<4x4x16xi1>
      %45 = stablehlo.broadcast_in_dim %43, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x16xf32>
      %46 = stablehlo.select %44, %41, %45 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : tensor<4x4x16xi1>, tensor<4x4x16xf32>
      sdy.return %46 : tensor<4x4x16xf32>
    } : (tensor<16xi1>, tensor<4x4x16xf32>, tensor<f32>) -> tensor<4x4x16xf32>
    %24 = sdy.data_flow_edge %23 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}]> : tensor<4x4x16xf32>
    %25 = sdy.constant dense<0xFF800000> : tensor<f32>
    %26 = stablehlo.reduce(%24 init: %25) applies stablehlo.maximum across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}]>]>} : (tensor<4x4x16xf32>, tensor<f32>) -> tensor<4x4xf32>
    %27 = sdy.constant dense<0xFF800000> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x4xf32>
    %29 = stablehlo.maximum %28, %26 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}]>]>} : tensor<4x4xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x1xf32>) -> tensor<4x4x16xf32>
    %32 = stablehlo.subtract %24, %31 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : tensor<4x4x16xf32>
    %33 = stablehlo.exponential %32 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : tensor<4x4x16xf32>
    %34 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.reduce(%33 init: %34) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}]>]>} : (tensor<4x4x16xf32>, tensor<f32>) -> tensor<4x4xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x1xf32>) -> tensor<4x4x16xf32>
    %38 = stablehlo.divide %33, %37 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : tensor<4x4x16xf32>
    %39 = stablehlo.dot_general %38, %17, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x16xf32>, tensor<4x16x4x8xf32>) -> tensor<4x4x8xf32>
    return %39, %8, %17 : tensor<4x4x8xf32>, tensor<4x16x4x8xf32>, tensor<4x16x4x8xf32>
  }
}
