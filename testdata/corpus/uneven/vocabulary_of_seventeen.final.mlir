module @jit_vocabulary_of_seventeen attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<17x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}, %arg1: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) -> (tensor<8x4xf32> {jax.result_info = "result"}) {
    %0 = sdy.reshard %arg0 <@mesh, [{"X"}, {}]> : tensor<17x8xf32>
    %1 = sdy.constant dense<17> : tensor<i32>
    %2 = call @remainder(%arg1, %1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8x4xi32>, tensor<i32>) -> tensor<8x4xi32>
    %3 = sdy.constant dense<0> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
    %5 = stablehlo.compare LT, %2, %4, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %6 = stablehlo.broadcast_in_dim %1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
    %7 = stablehlo.add %2, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x4xi32>
    %8 = stablehlo.select %5, %7, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x4xi1>, tensor<8x4xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x4xi32>) -> tensor<8x4x1xi32>
    %10 = "stablehlo.gather"(%0, %9) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<17x8xf32>, tensor<8x4x1xi32>) -> tensor<8x4x8xf32>
    %11 = sdy.reshard %10 <@mesh, [{"X"}, {}, {}]> : tensor<8x4x8xf32>
    %12 = stablehlo.transpose %arg0, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"Y"}, {"X"}]>]>} : (tensor<17x8xf32>) -> tensor<8x17xf32>
    %13 = stablehlo.dot_general %11, %12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"X"}]>]>} : (tensor<8x4x8xf32>, tensor<8x17xf32>) -> tensor<8x4x17xf32>
    %14 = sdy.reshard %13 <@mesh, [{}, {}, {"X"}]> : tensor<8x4x17xf32>
    %15 = sdy.reshard %14 <@mesh, [{}, {}, {}]> : tensor<8x4x17xf32>
    %16 = call @log_softmax(%15) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {}]>]>} : (tensor<8x4x17xf32>) -> tensor<8x4x17xf32>
    %17 = sdy.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.reduce(%16 init: %17) applies stablehlo.maximum across dimensions = [2] : (tensor<8x4x17xf32>, tensor<f32>) -> tensor<8x4xf32>
    return %18 : tensor<8x4xf32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @remainder(%arg0: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = sdy.constant dense<0> : tensor<i32>
    %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = sdy.constant dense<1> : tensor<i32>
    %4 = call @_where(%2, %3, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
    %6 = stablehlo.remainder %arg0, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x4xi32>
    %7 = stablehlo.broadcast_in_dim %1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
    %8 = stablehlo.compare NE, %6, %7, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %9 = stablehlo.compare LT, %6, %7, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %10 = stablehlo.compare LT, %4, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<i1>) -> tensor<8x4xi1>
    %12 = stablehlo.compare NE, %9, %11, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
    %13 = stablehlo.and %12, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x4xi1>
    %14 = stablehlo.add %6, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x4xi32>
    %15 = stablehlo.select %13, %14, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x4xi1>, tensor<8x4xi32>
    return %15 : tensor<8x4xi32>
  }
  func.func private @log_softmax(%arg0: tensor<8x4x17xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<8x4x17xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
    %0 = sdy.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [2] : (tensor<8x4x17xf32>, tensor<f32>) -> tensor<8x4xf32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %3 = stablehlo.maximum %2, %1 : tensor<8x4xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"X"}]>]>} : (tensor<8x4x1xf32>) -> tensor<8x4x17xf32>
    %6 = stablehlo.subtract %arg0, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"X"}]>]>} : tensor<8x4x17xf32>
    %7 = stablehlo.exponential %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"X"}]>]>} : tensor<8x4x17xf32>
    %8 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%7 init: %8) applies stablehlo.add across dimensions = [2] : (tensor<8x4x17xf32>, tensor<f32>) -> tensor<8x4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>
    %11 = stablehlo.log %10 : tensor<8x4x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"X"}]>]>} : (tensor<8x4x1xf32>) -> tensor<8x4x17xf32>
    %13 = stablehlo.subtract %6, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"X"}]>]>} : tensor<8x4x17xf32>
    return %13 : tensor<8x4x17xf32>
  }
}
