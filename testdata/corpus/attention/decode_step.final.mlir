module @jit_decode_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}, {}]>}, %arg1: tensor<4x16x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg2: tensor<4x16x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg3: tensor<4x1x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg4: tensor<4x1x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg5: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<4x4x8xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}, {}]>}, tensor<4x16x4x8xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, tensor<4x16x4x8xf32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}) {
    %0 = sdy.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare LT, %arg5, %0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = sdy.constant dense<16> : tensor<i32>
    %3 = stablehlo.add %arg5, %2 : tensor<i32>
    %4 = stablehlo.select %1, %3, %arg5 : tensor<i1>, tensor<i32>
    %5 = stablehlo.dynamic_update_slice %arg1, %arg3, %0, %4, %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}, {"model"}, {}]>]>} : (tensor<4x16x4x8xf32>, tensor<4x1x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x4x8xf32>
    %6 = stablehlo.compare LT, %arg5, %0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.add %arg5, %2 : tensor<i32>
    %8 = stablehlo.select %6, %7, %arg5 : tensor<i1>, tensor<i32>
    %9 = stablehlo.dynamic_update_slice %arg2, %arg4, %0, %8, %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}, {"model"}, {}]>]>} : (tensor<4x16x4x8xf32>, tensor<4x1x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x4x8xf32>
    %10 = stablehlo.dot_general %arg0, %5, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : (tensor<4x4x8xf32>, tensor<4x16x4x8xf32>) -> tensor<4x4x16xf32>
    %11 = stablehlo.iota dim = 0 : tensor<16xi32>
    %12 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %13 = stablehlo.compare LE, %11, %12, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %14 = sdy.constant dense<-1.000000e+09> : tensor<f32>
    %15 = call @_where(%13, %10, %14) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : (tensor<16xi1>, tensor<4x4x16xf32>, tensor<f32>) -> tensor<4x4x16xf32>
    %16 = sdy.constant dense<0xFF800000> : tensor<f32>
    %17 = stablehlo.reduce(%15 init: %16) applies stablehlo.maximum across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}]>]>} : (tensor<4x4x16xf32>, tensor<f32>) -> tensor<4x4xf32>
    %18 = stablehlo.broadcast_in_dim %16, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}]>]>} : (tensor<f32>) -> tensor<4x4xf32>
    %19 = stablehlo.maximum %18, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}]>]>} : tensor<4x4xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : (tensor<4x4x1xf32>) -> tensor<4x4x16xf32>
    %22 = stablehlo.subtract %15, %21 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : tensor<4x4x16xf32>
    %23 = stablehlo.exponential %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : tensor<4x4x16xf32>
    %24 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%23 init: %24) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}]>]>} : (tensor<4x4x16xf32>, tensor<f32>) -> tensor<4x4xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : (tensor<4x4x1xf32>) -> tensor<4x4x16xf32>
    %28 = stablehlo.divide %23, %27 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : tensor<4x4x16xf32>
    %29 = stablehlo.dot_general %28, %9, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : (tensor<4x4x16xf32>, tensor<4x16x4x8xf32>) -> tensor<4x4x8xf32>
    return %29, %5, %9 : tensor<4x4x8xf32>, tensor<4x16x4x8xf32>, tensor<4x16x4x8xf32>
  }
  func.func private @_where(%arg0: tensor<16xi1> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}, {}]>}, %arg2: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}, {}]>}) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : (tensor<16xi1>) -> tensor<4x4x16xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : (tensor<f32>) -> tensor<4x4x16xf32>
    %3 = stablehlo.select %1, %arg1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {"model"}, {}]>]>} : tensor<4x4x16xi1>, tensor<4x4x16xf32>
    return %3 : tensor<4x4x16xf32>
  }
}
