// A windowed attention that JAX exported, with shardings over four axes of 2. Most reshards between its layouts have
// uneven blocks.
module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2, "d"=2]>
  func.func public @main(%arg0: tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {"c"}, {}]>}, %arg1: tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}, {"a"}, {"d"}]>}, %arg2: tensor<4x8x4x8xf32>) -> (tensor<4x8x4x8xf32>) {
    %c = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
    %c_0 = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
    %26 = stablehlo.slice %arg1 [0:4, 0:8, 0:2, 0:8] : (tensor<4x8x4x8xf32>) -> tensor<4x8x2x8xf32>
    %27 = stablehlo.slice %arg2 [0:4, 0:8, 0:2, 0:8] : (tensor<4x8x4x8xf32>) -> tensor<4x8x2x8xf32>
    %28 = stablehlo.reshape %arg0 : (tensor<4x8x4x8xf32>) -> tensor<4x8x2x2x8xf32>
    %zz28 = sdy.sharding_constraint %28 <@mesh, [{"c", "a"}, {}, {"b", "d"}, {?}, {}]> : tensor<4x8x2x2x8xf32>
    %29 = stablehlo.dot_general %zz28, %26, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x2x2x8xf32>, tensor<4x8x2x8xf32>) -> tensor<4x2x8x2x8xf32>
    %cst_7 = stablehlo.constant dense<0.353553385> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x2x8x2x8xf32>
    %31 = stablehlo.multiply %29, %30 : tensor<4x2x8x2x8xf32>
    %c_8 = stablehlo.constant dense<true> : tensor<i1>
    %32 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i1>) -> tensor<4x2x8x8xi1>
    %33 = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %34 = stablehlo.broadcast_in_dim %c_0, dims = [1] : (tensor<8xi32>) -> tensor<1x8xi32>
    %c_9 = stablehlo.constant dense<2> : tensor<i32>
    %35 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<1x8xi32>
    %36 = stablehlo.add %34, %35 : tensor<1x8xi32>
    %37 = stablehlo.broadcast_in_dim %33, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x8xi32>
    %38 = stablehlo.broadcast_in_dim %36, dims = [0, 1] : (tensor<1x8xi32>) -> tensor<8x8xi32>
    %39 = stablehlo.compare LE, %37, %38, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %40 = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %41 = stablehlo.broadcast_in_dim %c_0, dims = [1] : (tensor<8xi32>) -> tensor<1x8xi32>
    %c_10 = stablehlo.constant dense<1> : tensor<i32>
    %42 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<1x8xi32>
    %43 = stablehlo.subtract %41, %42 : tensor<1x8xi32>
    %44 = stablehlo.broadcast_in_dim %40, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x8xi32>
    %45 = stablehlo.broadcast_in_dim %43, dims = [0, 1] : (tensor<1x8xi32>) -> tensor<8x8xi32>
    %46 = stablehlo.compare GE, %44, %45, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %47 = stablehlo.and %46, %39 : tensor<8x8xi1>
    %48 = stablehlo.broadcast_in_dim %47, dims = [2, 3] : (tensor<8x8xi1>) -> tensor<1x1x8x8xi1>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2, 3] : (tensor<1x1x8x8xi1>) -> tensor<4x2x8x8xi1>
    %50 = stablehlo.and %32, %49 : tensor<4x2x8x8xi1>
    %cst_11 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %51 = call @_where_0(%50, %31, %cst_11) : (tensor<4x2x8x8xi1>, tensor<4x2x8x2x8xf32>, tensor<f32>) -> tensor<2x4x2x8x8xf32>
    %cst_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %52 = stablehlo.reduce(%51 init: %cst_12) applies stablehlo.maximum across dimensions = [4] : (tensor<2x4x2x8x8xf32>, tensor<f32>) -> tensor<2x4x2x8xf32>
    %cst_13 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<2x4x2x8xf32>
    %54 = stablehlo.maximum %53, %52 : tensor<2x4x2x8xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x8x1xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2, 3, 4] : (tensor<2x4x2x8x1xf32>) -> tensor<2x4x2x8x8xf32>
    %57 = stablehlo.subtract %51, %56 : tensor<2x4x2x8x8xf32>
    %58 = stablehlo.exponential %57 : tensor<2x4x2x8x8xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %59 = stablehlo.reduce(%58 init: %cst_14) applies stablehlo.add across dimensions = [4] : (tensor<2x4x2x8x8xf32>, tensor<f32>) -> tensor<2x4x2x8xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1, 2, 3] : (tensor<2x4x2x8xf32>) -> tensor<2x4x2x8x1xf32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [0, 1, 2, 3, 4] : (tensor<2x4x2x8x1xf32>) -> tensor<2x4x2x8x8xf32>
    %zz61 = sdy.sharding_constraint %61 <@mesh, [{}, {"d"}, {"c", "b"}, {"a", ?}, {}]> : tensor<2x4x2x8x8xf32>
    %62 = stablehlo.divide %58, %zz61 : tensor<2x4x2x8x8xf32>
    %63 = stablehlo.dot_general %27, %62, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<4x8x2x8xf32>, tensor<2x4x2x8x8xf32>) -> tensor<4x2x8x2x8xf32>
    %64 = stablehlo.transpose %63, dims = [3, 0, 4, 1, 2] : (tensor<4x2x8x2x8xf32>) -> tensor<2x4x8x2x8xf32>
    %65 = stablehlo.transpose %64, dims = [1, 2, 3, 0, 4] : (tensor<2x4x8x2x8xf32>) -> tensor<4x8x2x2x8xf32>
    %66 = stablehlo.reshape %65 : (tensor<4x8x2x2x8xf32>) -> tensor<4x8x4x8xf32>
    return %66 : tensor<4x8x4x8xf32>
  }
  func.func private @_where_0(%arg0: tensor<4x2x8x8xi1>, %arg1: tensor<4x2x8x2x8xf32>, %arg2: tensor<f32>) -> tensor<2x4x2x8x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<4x2x8x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<4x2x8x8xi1>) -> tensor<2x4x2x8x8xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<4x2x8x8xf32>) -> tensor<2x4x2x8x8xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<4x2x8x2x8xf32>) -> tensor<2x4x2x8x8xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<2x4x2x8x8xi1>, tensor<2x4x2x8x8xf32>
    return %4 : tensor<2x4x2x8x8xf32>
  }
}
