module @jit_vocabulary_of_seventeen attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<17x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}, %arg1: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) -> (tensor<8x4xf32> {jax.result_info = "result"}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"X"}, {}]> : tensor<17x8xf32>
    %1 = sdy.constant dense<17> : tensor<i32>
    %2 = sdy.named_computation<"remainder">(%arg1, %1) (%arg2: tensor<8x4xi32>, %arg3: tensor<i32>) {
      %21 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
      %22 = sdy.data_flow_edge %arg3 : tensor<i32>
      %23 = stablehlo.convert %22 : tensor<i32>
      %24 = sdy.constant dense<0> : tensor<i32>
      %25 = stablehlo.compare EQ, %23, %24, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %26 = sdy.constant dense<1> : tensor<i32>
      %27 = sdy.named_computation<"_where">(%25, %26, %23) (%arg4: tensor<i1>, %arg5: tensor<i32>, %arg6: tensor<i32>) {
        %45 = sdy.data_flow_edge %arg4 : tensor<i1>
        %46 = sdy.data_flow_edge %arg5 : tensor<i32>
        %47 = sdy.data_flow_edge %arg6 : tensor<i32>
        %48 = stablehlo.select %45, %46, %47 : tensor<i1>, tensor<i32>
        sdy.return %48 : tensor<i32>
      } : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      %28 = sdy.data_flow_edge %27 : tensor<i32>
      %29 = stablehlo.broadcast_in_dim %28, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
      %30 = stablehlo.remainder %21, %29 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
      %31 = sdy.constant dense<0> : tensor<i32>
      %32 = stablehlo.broadcast_in_dim %31, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
      %33 = stablehlo.compare NE, %30, %32, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
      %34 = sdy.constant dense<0> : tensor<i32>
      %35 = stablehlo.broadcast_in_dim %34, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
      %36 = stablehlo.compare LT, %30, %35, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
      %37 = sdy.constant dense<0> : tensor<i32>
      %38 = stablehlo.compare LT, %28, %37, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %39 = stablehlo.broadcast_in_dim %38, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i1>) -> tensor<8x4xi1>
      %40 = stablehlo.compare NE, %36, %39, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
      %41 = stablehlo.and %40, %33 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi1>
      %42 = stablehlo.broadcast_in_dim %28, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
      %43 = stablehlo.add %30, %42 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
      %44 = stablehlo.select %41, %43, %30 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi1>, tensor<8x4xi32>
      sdy.return %44 : tensor<8x4xi32>
    } : (tensor<8x4xi32>, tensor<i32>) -> tensor<8x4xi32>
    %3 = sdy.data_flow_edge %2 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
    %4 = sdy.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
    %6 = stablehlo.compare LT, %3, %5, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
    %7 = sdy.constant dense<17> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
    %9 = stablehlo.add %3, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
    %10 = stablehlo.select %6, %9, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi1>, tensor<8x4xi32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4xi32>) -> tensor<8x4x1xi32>
    %12 = "stablehlo.gather"(%0, %11) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<17x8xf32>, tensor<8x4x1xi32>) -> tensor<8x4x8xf32>
    %13 = sdy.sharding_constraint %12 <@mesh, [{"X"}, {}, {}]> : tensor<8x4x8xf32>
    %14 = stablehlo.transpose %arg0, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"Y", ?}, {"X", ?}]>]>} : (tensor<17x8xf32>) -> tensor<8x17xf32>
    %15 = stablehlo.dot_general %13, %14, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}, {"X"}]>]>} : (tensor<8x4x8xf32>, tensor<8x17xf32>) -> tensor<8x4x17xf32>
    %16 = sdy.sharding_constraint %15 <@mesh, [{}, {}, {"X"}]> : tensor<8x4x17xf32>
    %17 = sdy.named_computation<"log_softmax">(%16) (%arg2: tensor<8x4x17xf32>) {
      %21 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {?}, {"X", ?}]> : tensor<8x4x17xf32>
      %22 = sdy.constant dense<0xFF800000> : tensor<f32>
      %23 = stablehlo.reduce(%21 init: %22) applies stablehlo.maximum across dimensions = [2] : (tensor<8x4x17xf32>, tensor<f32>) -> tensor<8x4xf32>
      %24 = sdy.constant dense<0xFF800000> : tensor<f32>
      %25 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
      %26 = stablehlo.maximum %25, %23 : tensor<8x4xf32>
      %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>
      %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"X", ?}]>]>} : (tensor<8x4x1xf32>) -> tensor<8x4x17xf32>
      %29 = stablehlo.subtract %21, %28 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"X", ?}]>]>} : tensor<8x4x17xf32>
      %30 = stablehlo.exponential %29 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"X", ?}]>]>} : tensor<8x4x17xf32>
      %31 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %32 = stablehlo.reduce(%30 init: %31) applies stablehlo.add across dimensions = [2] : (tensor<8x4x17xf32>, tensor<f32>) -> tensor<8x4xf32>
      %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x1xf32>
      %34 = stablehlo.log %33 : tensor<8x4x1xf32>
      %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"X", ?}]>]>} : (tensor<8x4x1xf32>) -> tensor<8x4x17xf32>
      %36 = stablehlo.subtract %29, %35 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"X", ?}]>]>} : tensor<8x4x17xf32>
      sdy.return %36 : tensor<8x4x17xf32>
    } : (tensor<8x4x17xf32>) -> tensor<8x4x17xf32>
    %18 = sdy.data_flow_edge %17 sharding=<@mesh, [{?}, {?}, {"X", ?}]> : tensor<8x4x17xf32>
    %19 = sdy.constant dense<0xFF800000> : tensor<f32>
    %20 = stablehlo.reduce(%18 init: %19) applies stablehlo.maximum across dimensions = [2] : (tensor<8x4x17xf32>, tensor<f32>) -> tensor<8x4xf32>
    return %20 : tensor<8x4xf32>
  }
}
