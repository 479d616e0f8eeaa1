module @jit_decode_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}, {}]>}, %arg1: tensor<4x16x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg2: tensor<4x16x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg3: tensor<4x1x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg4: tensor<4x1x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}, {}]>}, %arg5: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<4x4x8xf32> {jax.result_info = "result[0]"}, tensor<4x16x4x8xf32> {jax.result_info = "result[1]"}, tensor<4x16x4x8xf32> {jax.result_info = "result[2]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare LT, %arg5, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<16> : tensor<i32>
    %1 = stablehlo.add %arg5, %c_0 : tensor<i32>
    %2 = stablehlo.select %0, %1, %arg5 : tensor<i1>, tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_update_slice %arg1, %arg3, %c_1, %2, %c_2, %c_3 : (tensor<4x16x4x8xf32>, tensor<4x1x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x4x8xf32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.compare LT, %arg5, %c_4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_5 = stablehlo.constant dense<16> : tensor<i32>
    %5 = stablehlo.add %arg5, %c_5 : tensor<i32>
    %6 = stablehlo.select %4, %5, %arg5 : tensor<i1>, tensor<i32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.dynamic_update_slice %arg2, %arg4, %c_6, %6, %c_7, %c_8 : (tensor<4x16x4x8xf32>, tensor<4x1x4x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x4x8xf32>
    %8 = stablehlo.dot_general %arg0, %3, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8xf32>, tensor<4x16x4x8xf32>) -> tensor<4x4x16xf32>
    %9 = stablehlo.iota dim = 0 : tensor<16xi32>
    %10 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<i32>) -> tensor<16xi32>
    %11 = stablehlo.compare LE, %9, %10, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %cst = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %12 = call @_where(%11, %8, %cst) : (tensor<16xi1>, tensor<4x4x16xf32>, tensor<f32>) -> tensor<4x4x16xf32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_9) applies stablehlo.maximum across dimensions = [2] : (tensor<4x4x16xf32>, tensor<f32>) -> tensor<4x4xf32>
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %15 = stablehlo.maximum %14, %13 : tensor<4x4xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<4x4x1xf32>) -> tensor<4x4x16xf32>
    %18 = stablehlo.subtract %12, %17 : tensor<4x4x16xf32>
    %19 = stablehlo.exponential %18 : tensor<4x4x16xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_11) applies stablehlo.add across dimensions = [2] : (tensor<4x4x16xf32>, tensor<f32>) -> tensor<4x4xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<4x4x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<4x4x1xf32>) -> tensor<4x4x16xf32>
    %23 = stablehlo.divide %19, %22 : tensor<4x4x16xf32>
    %24 = stablehlo.dot_general %23, %7, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x16xf32>, tensor<4x16x4x8xf32>) -> tensor<4x4x8xf32>
    return %24, %3, %7 : tensor<4x4x8xf32>, tensor<4x16x4x8xf32>, tensor<4x16x4x8xf32>
  }
  func.func private @_where(%arg0: tensor<16xi1>, %arg1: tensor<4x4x16xf32>, %arg2: tensor<f32>) -> tensor<4x4x16xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<16xi1>) -> tensor<4x4x16xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x4x16xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<4x4x16xi1>, tensor<4x4x16xf32>
    return %3 : tensor<4x4x16xf32>
  }
}
