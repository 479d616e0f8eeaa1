module @jit_vocabulary_of_seventeen attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<17x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}, %arg1: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) -> (tensor<8x4xf32> {jax.result_info = "result"}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"X"}, {}]> : tensor<17x8xf32>
    %c = stablehlo.constant dense<17> : tensor<i32>
    %1 = call @remainder(%arg1, %c) : (tensor<8x4xi32>, tensor<i32>) -> tensor<8x4xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
    %3 = stablehlo.compare LT, %1, %2, SIGNED : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %c_1 = stablehlo.constant dense<17> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
    %5 = stablehlo.add %1, %4 : tensor<8x4xi32>
    %6 = stablehlo.select %3, %5, %1 : tensor<8x4xi1>, tensor<8x4xi32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<8x4xi32>) -> tensor<8x4x1xi32>
    %8 = "stablehlo.gather"(%0, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<17x8xf32>, tensor<8x4x1xi32>) -> tensor<8x4x8xf32>
    %9 = sdy.sharding_constraint %8 <@mesh, [{"X"}, {}, {}]> : tensor<8x4x8xf32>
    %10 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<17x8xf32>) -> tensor<8x17xf32>
    %11 = stablehlo.dot_general %9, %10, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4x8xf32>, tensor<8x17xf32>) -> tensor<8x4x17xf32>
    %12 = sdy.sharding_constraint %11 <@mesh, [{}, {}, {"X"}]> : tensor<8x4x17xf32>
    %13 = call @log_softmax(%12) : (tensor<8x4x17xf32>) -> tensor<8x4x17xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.reduce(%13 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<8x4x17xf32>, tensor<f32>) -> tensor<8x4xf32>
    return %14 : tensor<8x4xf32>
  }
  func.func private @remainder(%arg0: tensor<8x4xi32>, %arg1: tensor<i32>) -> tensor<8x4xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
    %4 = stablehlo.remainder %arg0, %3 : tensor<8x4xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.compare LT, %2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<8x4xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
    %12 = stablehlo.and %11, %6 : tensor<8x4xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
    %14 = stablehlo.add %4, %13 : tensor<8x4xi32>
    %15 = stablehlo.select %12, %14, %4 : tensor<8x4xi1>, tensor<8x4xi32>
    return %15 : tensor<8x4xi32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @log_softmax(%arg0: tensor<8x4x17xf32>) -> tensor<8x4x17xf32> {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<8x4x17xf32>, tensor<f32>) -> tensor<8x4xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<8x4xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<8x4x1xf32>) -> tensor<8x4x17xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<8x4x17xf32>
    %6 = stablehlo.exponential %5 : tensor<8x4x17xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<8x4x17xf32>, tensor<f32>) -> tensor<8x4xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>
    %9 = stablehlo.log %8 : tensor<8x4x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<8x4x1xf32>) -> tensor<8x4x17xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<8x4x17xf32>
    return %11 : tensor<8x4x17xf32>
  }
}
