module @jit_train_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 1 : i32}, %arg1: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 2 : i32}, %arg2: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 3 : i32}, %arg3: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, tf.aliasing_output = 4 : i32}, %arg4: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 5 : i32}, %arg5: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 6 : i32}, %arg6: tensor<4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}, {}]>, tf.aliasing_output = 7 : i32}, %arg7: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 8 : i32}, %arg8: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 9 : i32}, %arg9: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 10 : i32}, %arg10: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 11 : i32}, %arg11: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, tf.aliasing_output = 12 : i32}, %arg12: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 13 : i32}, %arg13: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 14 : i32}, %arg14: tensor<4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}, {}]>, tf.aliasing_output = 15 : i32}, %arg15: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 16 : i32}, %arg16: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 17 : i32}, %arg17: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 18 : i32}, %arg18: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, tf.aliasing_output = 19 : i32}, %arg19: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %arg20: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<f32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<32x16xf32> {jax.result_info = "result[1]['embed']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<16xf32> {jax.result_info = "result[1]['layers'][0]['norm1']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16xf32> {jax.result_info = "result[1]['layers'][0]['norm2']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16x64xf32> {jax.result_info = "result[1]['layers'][0]['w1']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, tensor<64x16xf32> {jax.result_info = "result[1]['layers'][0]['w2']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][0]['wk']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<4x4x16xf32> {jax.result_info = "result[1]['layers'][0]['wo']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][0]['wq']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][0]['wv']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<16xf32> {jax.result_info = "result[1]['layers'][1]['norm1']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16xf32> {jax.result_info = "result[1]['layers'][1]['norm2']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16x64xf32> {jax.result_info = "result[1]['layers'][1]['w1']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, tensor<64x16xf32> {jax.result_info = "result[1]['layers'][1]['w2']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][1]['wk']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<4x4x16xf32> {jax.result_info = "result[1]['layers'][1]['wo']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][1]['wq']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][1]['wv']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<16xf32> {jax.result_info = "result[1]['norm']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16x32xf32> {jax.result_info = "result[1]['unembed']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x8xi32>
    %1 = stablehlo.compare LT, %arg19, %0, SIGNED : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
    %c_0 = stablehlo.constant dense<32> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x8xi32>
    %3 = stablehlo.add %arg19, %2 : tensor<4x8xi32>
    %4 = stablehlo.select %1, %3, %arg19 : tensor<4x8xi1>, tensor<4x8xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4x8xi32>) -> tensor<4x8x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}> : (tensor<32x16xf32>, tensor<4x8x1xi32>) -> tensor<4x8x16xf32>
    %7 = chlo.square %6 : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %9 = stablehlo.multiply %8, %6 : tensor<4x8x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_2 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %13 = stablehlo.divide %11, %12 : tensor<4x8x1xf32>
    %cst_3 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %15 = stablehlo.add %13, %14 : tensor<4x8x1xf32>
    %16 = stablehlo.rsqrt %15 : tensor<4x8x1xf32>
    %17 = stablehlo.divide %16, %15 : tensor<4x8x1xf32>
    %cst_4 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %19 = stablehlo.multiply %18, %17 : tensor<4x8x1xf32>
    %20 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %21 = stablehlo.multiply %6, %20 : tensor<4x8x16xf32>
    %22 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %24 = stablehlo.multiply %21, %23 : tensor<4x8x16xf32>
    %25 = stablehlo.dot_general %24, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %26 = stablehlo.dot_general %24, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %27 = stablehlo.dot_general %24, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %28 = stablehlo.dot_general %25, %26, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %cst_5 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %30 = stablehlo.multiply %28, %29 : tensor<4x4x8x8xf32>
    %c_6 = stablehlo.constant dense<true> : tensor<i1>
    %31 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %32 = call @tril(%31) : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %cst_7 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %33:3 = call @_where(%32, %30, %cst_7) : (tensor<8x8xi1>, tensor<4x4x8x8xf32>, tensor<f32>) -> (tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>)
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %34 = stablehlo.reduce(%33#0 init: %cst_8) applies stablehlo.maximum across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %35 = stablehlo.reshape %34 : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %37 = stablehlo.compare EQ, %33#0, %36, FLOAT : (tensor<4x4x8x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xi1>
    %38 = stablehlo.convert %37 : (tensor<4x4x8x8xi1>) -> tensor<4x4x8x8xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.reduce(%38 init: %cst_9) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %41 = stablehlo.maximum %40, %34 : tensor<4x4x8xf32>
    %42 = stablehlo.compare EQ, %34, %41, FLOAT : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xi1>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %45 = stablehlo.select %42, %43, %44 : tensor<4x4x8xi1>, tensor<4x4x8xf32>
    %cst_13 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %47 = stablehlo.compare EQ, %46, %41, FLOAT : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xi1>
    %cst_14 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %48 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %50 = stablehlo.select %47, %48, %49 : tensor<4x4x8xi1>, tensor<4x4x8xf32>
    %51 = stablehlo.divide %45, %50 : tensor<4x4x8xf32>
    %52 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %54 = stablehlo.subtract %33#0, %53 : tensor<4x4x8x8xf32>
    %55 = stablehlo.exponential %54 : tensor<4x4x8x8xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %56 = stablehlo.reduce(%55 init: %cst_16) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %59 = stablehlo.divide %55, %58 : tensor<4x4x8x8xf32>
    %60 = stablehlo.multiply %57, %57 : tensor<4x4x8x1xf32>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<4x4x8x1xf32>
    %62 = stablehlo.divide %61, %60 : tensor<4x4x8x1xf32>
    %63 = stablehlo.dot_general %27, %59, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %64 = stablehlo.transpose %63, dims = [0, 3, 1, 2] : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %65 = stablehlo.dot_general %64, %arg6, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x4x16xf32>) -> tensor<4x8x16xf32>
    %66 = stablehlo.add %6, %65 : tensor<4x8x16xf32>
    %67 = chlo.square %66 : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %cst_18 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %69 = stablehlo.multiply %68, %66 : tensor<4x8x16xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %70 = stablehlo.reduce(%67 init: %cst_19) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_20 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %72 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %73 = stablehlo.divide %71, %72 : tensor<4x8x1xf32>
    %cst_21 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %74 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %75 = stablehlo.add %73, %74 : tensor<4x8x1xf32>
    %76 = stablehlo.rsqrt %75 : tensor<4x8x1xf32>
    %77 = stablehlo.divide %76, %75 : tensor<4x8x1xf32>
    %cst_22 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %79 = stablehlo.multiply %78, %77 : tensor<4x8x1xf32>
    %80 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %81 = stablehlo.multiply %66, %80 : tensor<4x8x16xf32>
    %82 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %84 = stablehlo.multiply %81, %83 : tensor<4x8x16xf32>
    %85 = stablehlo.dot_general %84, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x64xf32>) -> tensor<4x8x64xf32>
    %86 = stablehlo.multiply %85, %85 : tensor<4x8x64xf32>
    %87 = stablehlo.multiply %86, %85 : tensor<4x8x64xf32>
    %88 = stablehlo.multiply %85, %85 : tensor<4x8x64xf32>
    %cst_23 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %89 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %90 = stablehlo.multiply %89, %88 : tensor<4x8x64xf32>
    %cst_24 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %91 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %92 = stablehlo.multiply %91, %87 : tensor<4x8x64xf32>
    %93 = stablehlo.add %85, %92 : tensor<4x8x64xf32>
    %cst_25 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %94 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %95 = stablehlo.multiply %94, %93 : tensor<4x8x64xf32>
    %96 = stablehlo.tanh %95 : tensor<4x8x64xf32>
    %cst_26 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %97 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %98 = stablehlo.subtract %97, %96 : tensor<4x8x64xf32>
    %cst_27 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %100 = stablehlo.add %99, %96 : tensor<4x8x64xf32>
    %cst_28 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %102 = stablehlo.multiply %101, %100 : tensor<4x8x64xf32>
    %103 = stablehlo.multiply %85, %102 : tensor<4x8x64xf32>
    %104 = stablehlo.dot_general %103, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x64xf32>, tensor<64x16xf32>) -> tensor<4x8x16xf32>
    %105 = stablehlo.add %66, %104 : tensor<4x8x16xf32>
    %106 = sdy.sharding_constraint %105 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %107 = chlo.square %106 : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %cst_29 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %108 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %109 = stablehlo.multiply %108, %106 : tensor<4x8x16xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %110 = stablehlo.reduce(%107 init: %cst_30) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %111 = stablehlo.broadcast_in_dim %110, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_31 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %112 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %113 = stablehlo.divide %111, %112 : tensor<4x8x1xf32>
    %cst_32 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %114 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %115 = stablehlo.add %113, %114 : tensor<4x8x1xf32>
    %116 = stablehlo.rsqrt %115 : tensor<4x8x1xf32>
    %117 = stablehlo.divide %116, %115 : tensor<4x8x1xf32>
    %cst_33 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %118 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %119 = stablehlo.multiply %118, %117 : tensor<4x8x1xf32>
    %120 = stablehlo.broadcast_in_dim %116, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %121 = stablehlo.multiply %106, %120 : tensor<4x8x16xf32>
    %122 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %123 = stablehlo.broadcast_in_dim %122, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %124 = stablehlo.multiply %121, %123 : tensor<4x8x16xf32>
    %125 = stablehlo.dot_general %124, %arg15, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %126 = stablehlo.dot_general %124, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %127 = stablehlo.dot_general %124, %arg16, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %128 = stablehlo.dot_general %125, %126, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %cst_34 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %129 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %130 = stablehlo.multiply %128, %129 : tensor<4x4x8x8xf32>
    %c_35 = stablehlo.constant dense<true> : tensor<i1>
    %131 = stablehlo.broadcast_in_dim %c_35, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %132 = call @tril(%131) : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %cst_36 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %133:3 = call @_where(%132, %130, %cst_36) : (tensor<8x8xi1>, tensor<4x4x8x8xf32>, tensor<f32>) -> (tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>)
    %cst_37 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %134 = stablehlo.reduce(%133#0 init: %cst_37) applies stablehlo.maximum across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %135 = stablehlo.reshape %134 : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %136 = stablehlo.broadcast_in_dim %135, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %137 = stablehlo.compare EQ, %133#0, %136, FLOAT : (tensor<4x4x8x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xi1>
    %138 = stablehlo.convert %137 : (tensor<4x4x8x8xi1>) -> tensor<4x4x8x8xf32>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %139 = stablehlo.reduce(%138 init: %cst_38) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %cst_39 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %140 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %141 = stablehlo.maximum %140, %134 : tensor<4x4x8xf32>
    %142 = stablehlo.compare EQ, %134, %141, FLOAT : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xi1>
    %cst_40 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %143 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %144 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %145 = stablehlo.select %142, %143, %144 : tensor<4x4x8xi1>, tensor<4x4x8xf32>
    %cst_42 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %146 = stablehlo.broadcast_in_dim %cst_42, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %147 = stablehlo.compare EQ, %146, %141, FLOAT : (tensor<4x4x8xf32>, tensor<4x4x8xf32>) -> tensor<4x4x8xi1>
    %cst_43 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %148 = stablehlo.broadcast_in_dim %cst_43, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %cst_44 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %149 = stablehlo.broadcast_in_dim %cst_44, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %150 = stablehlo.select %147, %148, %149 : tensor<4x4x8xi1>, tensor<4x4x8xf32>
    %151 = stablehlo.divide %145, %150 : tensor<4x4x8xf32>
    %152 = stablehlo.broadcast_in_dim %141, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %153 = stablehlo.broadcast_in_dim %152, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %154 = stablehlo.subtract %133#0, %153 : tensor<4x4x8x8xf32>
    %155 = stablehlo.exponential %154 : tensor<4x4x8x8xf32>
    %cst_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %156 = stablehlo.reduce(%155 init: %cst_45) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %157 = stablehlo.broadcast_in_dim %156, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %158 = stablehlo.broadcast_in_dim %157, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %159 = stablehlo.divide %155, %158 : tensor<4x4x8x8xf32>
    %160 = stablehlo.multiply %157, %157 : tensor<4x4x8x1xf32>
    %cst_46 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %161 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<4x4x8x1xf32>
    %162 = stablehlo.divide %161, %160 : tensor<4x4x8x1xf32>
    %163 = stablehlo.dot_general %127, %159, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %164 = stablehlo.transpose %163, dims = [0, 3, 1, 2] : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %165 = stablehlo.dot_general %164, %arg14, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x4x16xf32>) -> tensor<4x8x16xf32>
    %166 = stablehlo.add %106, %165 : tensor<4x8x16xf32>
    %167 = chlo.square %166 : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %cst_47 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %168 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %169 = stablehlo.multiply %168, %166 : tensor<4x8x16xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %170 = stablehlo.reduce(%167 init: %cst_48) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %171 = stablehlo.broadcast_in_dim %170, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_49 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %172 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %173 = stablehlo.divide %171, %172 : tensor<4x8x1xf32>
    %cst_50 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %174 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %175 = stablehlo.add %173, %174 : tensor<4x8x1xf32>
    %176 = stablehlo.rsqrt %175 : tensor<4x8x1xf32>
    %177 = stablehlo.divide %176, %175 : tensor<4x8x1xf32>
    %cst_51 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %178 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %179 = stablehlo.multiply %178, %177 : tensor<4x8x1xf32>
    %180 = stablehlo.broadcast_in_dim %176, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %181 = stablehlo.multiply %166, %180 : tensor<4x8x16xf32>
    %182 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %183 = stablehlo.broadcast_in_dim %182, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %184 = stablehlo.multiply %181, %183 : tensor<4x8x16xf32>
    %185 = stablehlo.dot_general %184, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x64xf32>) -> tensor<4x8x64xf32>
    %186 = stablehlo.multiply %185, %185 : tensor<4x8x64xf32>
    %187 = stablehlo.multiply %186, %185 : tensor<4x8x64xf32>
    %188 = stablehlo.multiply %185, %185 : tensor<4x8x64xf32>
    %cst_52 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %189 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %190 = stablehlo.multiply %189, %188 : tensor<4x8x64xf32>
    %cst_53 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %191 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %192 = stablehlo.multiply %191, %187 : tensor<4x8x64xf32>
    %193 = stablehlo.add %185, %192 : tensor<4x8x64xf32>
    %cst_54 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %194 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %195 = stablehlo.multiply %194, %193 : tensor<4x8x64xf32>
    %196 = stablehlo.tanh %195 : tensor<4x8x64xf32>
    %cst_55 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %197 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %198 = stablehlo.subtract %197, %196 : tensor<4x8x64xf32>
    %cst_56 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %199 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %200 = stablehlo.add %199, %196 : tensor<4x8x64xf32>
    %cst_57 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %201 = stablehlo.broadcast_in_dim %cst_57, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %202 = stablehlo.multiply %201, %200 : tensor<4x8x64xf32>
    %203 = stablehlo.multiply %185, %202 : tensor<4x8x64xf32>
    %204 = stablehlo.dot_general %203, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x64xf32>, tensor<64x16xf32>) -> tensor<4x8x16xf32>
    %205 = stablehlo.add %166, %204 : tensor<4x8x16xf32>
    %206 = sdy.sharding_constraint %205 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %207 = chlo.square %206 : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %cst_58 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %208 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %209 = stablehlo.multiply %208, %206 : tensor<4x8x16xf32>
    %cst_59 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %210 = stablehlo.reduce(%207 init: %cst_59) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %211 = stablehlo.broadcast_in_dim %210, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_60 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %212 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %213 = stablehlo.divide %211, %212 : tensor<4x8x1xf32>
    %cst_61 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %214 = stablehlo.broadcast_in_dim %cst_61, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %215 = stablehlo.add %213, %214 : tensor<4x8x1xf32>
    %216 = stablehlo.rsqrt %215 : tensor<4x8x1xf32>
    %217 = stablehlo.divide %216, %215 : tensor<4x8x1xf32>
    %cst_62 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %218 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %219 = stablehlo.multiply %218, %217 : tensor<4x8x1xf32>
    %220 = stablehlo.broadcast_in_dim %216, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %221 = stablehlo.multiply %206, %220 : tensor<4x8x16xf32>
    %222 = stablehlo.broadcast_in_dim %arg17, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %223 = stablehlo.broadcast_in_dim %222, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %224 = stablehlo.multiply %221, %223 : tensor<4x8x16xf32>
    %225 = stablehlo.dot_general %224, %arg18, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    %226:3 = call @log_softmax(%225) : (tensor<4x8x32xf32>) -> (tensor<4x8x32xf32>, tensor<4x8x32xf32>, tensor<4x8x1xf32>)
    %227 = stablehlo.broadcast_in_dim %arg20, dims = [0, 1] : (tensor<4x8xi32>) -> tensor<4x8x1xi32>
    %228:2 = call @take_along_axis(%226#0, %227) : (tensor<4x8x32xf32>, tensor<4x8x1xi32>) -> (tensor<4x8x1xf32>, tensor<4x8x1x1xi32>)
    %cst_63 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %229 = stablehlo.reduce(%228#0 init: %cst_63) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_64 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %230 = stablehlo.divide %229, %cst_64 : tensor<f32>
    %231 = stablehlo.negate %230 : tensor<f32>
    %cst_65 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %232 = stablehlo.negate %cst_65 : tensor<f32>
    %cst_66 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %233 = stablehlo.divide %232, %cst_66 : tensor<f32>
    %234 = stablehlo.broadcast_in_dim %233, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %235 = call @take_along_axis_0(%228#1, %234) : (tensor<4x8x1x1xi32>, tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
    %236 = call @log_softmax_1(%226#1, %226#2, %235) : (tensor<4x8x32xf32>, tensor<4x8x1xf32>, tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    %237 = stablehlo.dot_general %236, %224, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %238 = stablehlo.transpose %237, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %239 = stablehlo.dot_general %236, %arg18, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<16x32xf32>) -> tensor<4x8x16xf32>
    %240 = stablehlo.multiply %221, %239 : tensor<4x8x16xf32>
    %cst_67 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %241 = stablehlo.reduce(%240 init: %cst_67) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %242 = stablehlo.reshape %241 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %243 = stablehlo.broadcast_in_dim %222, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %244 = stablehlo.multiply %239, %243 : tensor<4x8x16xf32>
    %cst_68 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %245 = stablehlo.reduce(%242 init: %cst_68) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %246 = stablehlo.multiply %206, %244 : tensor<4x8x16xf32>
    %cst_69 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %247 = stablehlo.reduce(%246 init: %cst_69) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %248 = stablehlo.reshape %247 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %249 = stablehlo.broadcast_in_dim %216, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %250 = stablehlo.multiply %244, %249 : tensor<4x8x16xf32>
    %251 = stablehlo.multiply %248, %219 : tensor<4x8x1xf32>
    %cst_70 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %252 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %253 = stablehlo.divide %251, %252 : tensor<4x8x1xf32>
    %cst_71 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %254 = stablehlo.reduce(%253 init: %cst_71) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %255 = stablehlo.broadcast_in_dim %254, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %256 = stablehlo.multiply %255, %209 : tensor<4x8x16xf32>
    %257 = stablehlo.add %250, %256 : tensor<4x8x16xf32>
    %258 = sdy.sharding_constraint %257 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %259 = stablehlo.dot_general %258, %203, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x64xf32>) -> tensor<16x64xf32>
    %260 = stablehlo.transpose %259, dims = [1, 0] : (tensor<16x64xf32>) -> tensor<64x16xf32>
    %261 = stablehlo.dot_general %258, %arg12, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32>
    %262 = stablehlo.multiply %185, %261 : tensor<4x8x64xf32>
    %263 = stablehlo.multiply %261, %202 : tensor<4x8x64xf32>
    %cst_72 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %264 = stablehlo.broadcast_in_dim %cst_72, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %265 = stablehlo.multiply %264, %262 : tensor<4x8x64xf32>
    %266 = stablehlo.multiply %265, %198 : tensor<4x8x64xf32>
    %267 = stablehlo.multiply %266, %196 : tensor<4x8x64xf32>
    %268 = stablehlo.add %266, %267 : tensor<4x8x64xf32>
    %cst_73 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %269 = stablehlo.broadcast_in_dim %cst_73, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %270 = stablehlo.multiply %269, %268 : tensor<4x8x64xf32>
    %271 = stablehlo.add %263, %270 : tensor<4x8x64xf32>
    %cst_74 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %272 = stablehlo.broadcast_in_dim %cst_74, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %273 = stablehlo.multiply %272, %270 : tensor<4x8x64xf32>
    %274 = stablehlo.multiply %273, %190 : tensor<4x8x64xf32>
    %275 = stablehlo.add %271, %274 : tensor<4x8x64xf32>
    %276 = stablehlo.dot_general %275, %184, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x64xf32>, tensor<4x8x16xf32>) -> tensor<64x16xf32>
    %277 = stablehlo.transpose %276, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
    %278 = stablehlo.dot_general %275, %arg11, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x64xf32>, tensor<16x64xf32>) -> tensor<4x8x16xf32>
    %279 = stablehlo.multiply %181, %278 : tensor<4x8x16xf32>
    %cst_75 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %280 = stablehlo.reduce(%279 init: %cst_75) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %281 = stablehlo.reshape %280 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %282 = stablehlo.broadcast_in_dim %182, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %283 = stablehlo.multiply %278, %282 : tensor<4x8x16xf32>
    %cst_76 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %284 = stablehlo.reduce(%281 init: %cst_76) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %285 = stablehlo.multiply %166, %283 : tensor<4x8x16xf32>
    %cst_77 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %286 = stablehlo.reduce(%285 init: %cst_77) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %287 = stablehlo.reshape %286 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %288 = stablehlo.broadcast_in_dim %176, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %289 = stablehlo.multiply %283, %288 : tensor<4x8x16xf32>
    %290 = stablehlo.add %258, %289 : tensor<4x8x16xf32>
    %291 = stablehlo.multiply %287, %179 : tensor<4x8x1xf32>
    %cst_78 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %292 = stablehlo.broadcast_in_dim %cst_78, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %293 = stablehlo.divide %291, %292 : tensor<4x8x1xf32>
    %cst_79 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %294 = stablehlo.reduce(%293 init: %cst_79) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %295 = stablehlo.broadcast_in_dim %294, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %296 = stablehlo.multiply %295, %169 : tensor<4x8x16xf32>
    %297 = stablehlo.add %290, %296 : tensor<4x8x16xf32>
    %298 = stablehlo.dot_general %297, %164, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x4x4xf32>) -> tensor<16x4x4xf32>
    %299 = stablehlo.transpose %298, dims = [1, 2, 0] : (tensor<16x4x4xf32>) -> tensor<4x4x16xf32>
    %300 = stablehlo.dot_general %297, %arg14, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x4x16xf32>) -> tensor<4x8x4x4xf32>
    %301 = stablehlo.transpose %300, dims = [0, 2, 3, 1] : (tensor<4x8x4x4xf32>) -> tensor<4x4x4x8xf32>
    %302 = stablehlo.dot_general %301, %127, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x4x4x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %303 = stablehlo.dot_general %301, %159, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x4x4x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %304 = stablehlo.transpose %303, dims = [0, 3, 1, 2] : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %305 = stablehlo.broadcast_in_dim %162, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %306 = stablehlo.multiply %302, %305 : tensor<4x4x8x8xf32>
    %307 = stablehlo.multiply %306, %155 : tensor<4x4x8x8xf32>
    %cst_80 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %308 = stablehlo.reduce(%307 init: %cst_80) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %309 = stablehlo.reshape %308 : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %310 = stablehlo.negate %309 : tensor<4x4x8x1xf32>
    %311 = stablehlo.broadcast_in_dim %157, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %312 = stablehlo.divide %302, %311 : tensor<4x4x8x8xf32>
    %cst_81 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %313 = stablehlo.reduce(%310 init: %cst_81) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x1xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %314 = stablehlo.broadcast_in_dim %313, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x8xf32>
    %315 = stablehlo.add %312, %314 : tensor<4x4x8x8xf32>
    %316 = stablehlo.multiply %315, %155 : tensor<4x4x8x8xf32>
    %317 = call @_where_2(%133#1, %133#2, %316) : (tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>
    %cst_82 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %318 = stablehlo.broadcast_in_dim %cst_82, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %319 = stablehlo.multiply %317, %318 : tensor<4x4x8x8xf32>
    %320 = stablehlo.dot_general %319, %125, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %321 = stablehlo.transpose %320, dims = [0, 2, 1, 3] : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %322 = stablehlo.dot_general %319, %126, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %323 = stablehlo.transpose %322, dims = [0, 2, 1, 3] : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %324 = stablehlo.dot_general %304, %124, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %325 = stablehlo.transpose %324, dims = [2, 0, 1] : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %326 = stablehlo.dot_general %304, %arg16, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %327 = stablehlo.dot_general %321, %124, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %328 = stablehlo.transpose %327, dims = [2, 0, 1] : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %329 = stablehlo.dot_general %321, %arg13, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %330 = stablehlo.add %326, %329 : tensor<4x8x16xf32>
    %331 = stablehlo.dot_general %323, %124, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %332 = stablehlo.transpose %331, dims = [2, 0, 1] : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %333 = stablehlo.dot_general %323, %arg15, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %334 = stablehlo.add %330, %333 : tensor<4x8x16xf32>
    %335 = stablehlo.multiply %121, %334 : tensor<4x8x16xf32>
    %cst_83 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %336 = stablehlo.reduce(%335 init: %cst_83) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %337 = stablehlo.reshape %336 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %338 = stablehlo.broadcast_in_dim %122, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %339 = stablehlo.multiply %334, %338 : tensor<4x8x16xf32>
    %cst_84 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %340 = stablehlo.reduce(%337 init: %cst_84) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %341 = stablehlo.multiply %106, %339 : tensor<4x8x16xf32>
    %cst_85 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %342 = stablehlo.reduce(%341 init: %cst_85) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %343 = stablehlo.reshape %342 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %344 = stablehlo.broadcast_in_dim %116, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %345 = stablehlo.multiply %339, %344 : tensor<4x8x16xf32>
    %346 = stablehlo.add %297, %345 : tensor<4x8x16xf32>
    %347 = stablehlo.multiply %343, %119 : tensor<4x8x1xf32>
    %cst_86 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %348 = stablehlo.broadcast_in_dim %cst_86, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %349 = stablehlo.divide %347, %348 : tensor<4x8x1xf32>
    %cst_87 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %350 = stablehlo.reduce(%349 init: %cst_87) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %351 = stablehlo.broadcast_in_dim %350, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %352 = stablehlo.multiply %351, %109 : tensor<4x8x16xf32>
    %353 = stablehlo.add %346, %352 : tensor<4x8x16xf32>
    %354 = sdy.sharding_constraint %353 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %355 = stablehlo.dot_general %354, %103, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x64xf32>) -> tensor<16x64xf32>
    %356 = stablehlo.transpose %355, dims = [1, 0] : (tensor<16x64xf32>) -> tensor<64x16xf32>
    %357 = stablehlo.dot_general %354, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32>
    %358 = stablehlo.multiply %85, %357 : tensor<4x8x64xf32>
    %359 = stablehlo.multiply %357, %102 : tensor<4x8x64xf32>
    %cst_88 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %360 = stablehlo.broadcast_in_dim %cst_88, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %361 = stablehlo.multiply %360, %358 : tensor<4x8x64xf32>
    %362 = stablehlo.multiply %361, %98 : tensor<4x8x64xf32>
    %363 = stablehlo.multiply %362, %96 : tensor<4x8x64xf32>
    %364 = stablehlo.add %362, %363 : tensor<4x8x64xf32>
    %cst_89 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %365 = stablehlo.broadcast_in_dim %cst_89, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %366 = stablehlo.multiply %365, %364 : tensor<4x8x64xf32>
    %367 = stablehlo.add %359, %366 : tensor<4x8x64xf32>
    %cst_90 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %368 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<4x8x64xf32>
    %369 = stablehlo.multiply %368, %366 : tensor<4x8x64xf32>
    %370 = stablehlo.multiply %369, %90 : tensor<4x8x64xf32>
    %371 = stablehlo.add %367, %370 : tensor<4x8x64xf32>
    %372 = stablehlo.dot_general %371, %84, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x64xf32>, tensor<4x8x16xf32>) -> tensor<64x16xf32>
    %373 = stablehlo.transpose %372, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
    %374 = stablehlo.dot_general %371, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x64xf32>, tensor<16x64xf32>) -> tensor<4x8x16xf32>
    %375 = stablehlo.multiply %81, %374 : tensor<4x8x16xf32>
    %cst_91 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %376 = stablehlo.reduce(%375 init: %cst_91) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %377 = stablehlo.reshape %376 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %378 = stablehlo.broadcast_in_dim %82, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %379 = stablehlo.multiply %374, %378 : tensor<4x8x16xf32>
    %cst_92 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %380 = stablehlo.reduce(%377 init: %cst_92) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %381 = stablehlo.multiply %66, %379 : tensor<4x8x16xf32>
    %cst_93 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %382 = stablehlo.reduce(%381 init: %cst_93) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %383 = stablehlo.reshape %382 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %384 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %385 = stablehlo.multiply %379, %384 : tensor<4x8x16xf32>
    %386 = stablehlo.add %354, %385 : tensor<4x8x16xf32>
    %387 = stablehlo.multiply %383, %79 : tensor<4x8x1xf32>
    %cst_94 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %388 = stablehlo.broadcast_in_dim %cst_94, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %389 = stablehlo.divide %387, %388 : tensor<4x8x1xf32>
    %cst_95 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %390 = stablehlo.reduce(%389 init: %cst_95) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %391 = stablehlo.broadcast_in_dim %390, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %392 = stablehlo.multiply %391, %69 : tensor<4x8x16xf32>
    %393 = stablehlo.add %386, %392 : tensor<4x8x16xf32>
    %394 = stablehlo.dot_general %393, %64, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x4x4xf32>) -> tensor<16x4x4xf32>
    %395 = stablehlo.transpose %394, dims = [1, 2, 0] : (tensor<16x4x4xf32>) -> tensor<4x4x16xf32>
    %396 = stablehlo.dot_general %393, %arg6, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x4x16xf32>) -> tensor<4x8x4x4xf32>
    %397 = stablehlo.transpose %396, dims = [0, 2, 3, 1] : (tensor<4x8x4x4xf32>) -> tensor<4x4x4x8xf32>
    %398 = stablehlo.dot_general %397, %27, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x4x4x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %399 = stablehlo.dot_general %397, %59, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x4x4x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %400 = stablehlo.transpose %399, dims = [0, 3, 1, 2] : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %401 = stablehlo.broadcast_in_dim %62, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %402 = stablehlo.multiply %398, %401 : tensor<4x4x8x8xf32>
    %403 = stablehlo.multiply %402, %55 : tensor<4x4x8x8xf32>
    %cst_96 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %404 = stablehlo.reduce(%403 init: %cst_96) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %405 = stablehlo.reshape %404 : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %406 = stablehlo.negate %405 : tensor<4x4x8x1xf32>
    %407 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %408 = stablehlo.divide %398, %407 : tensor<4x4x8x8xf32>
    %cst_97 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %409 = stablehlo.reduce(%406 init: %cst_97) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x1xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %410 = stablehlo.broadcast_in_dim %409, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x8xf32>
    %411 = stablehlo.add %408, %410 : tensor<4x4x8x8xf32>
    %412 = stablehlo.multiply %411, %55 : tensor<4x4x8x8xf32>
    %413 = call @_where_2(%33#1, %33#2, %412) : (tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>
    %cst_98 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %414 = stablehlo.broadcast_in_dim %cst_98, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %415 = stablehlo.multiply %413, %414 : tensor<4x4x8x8xf32>
    %416 = stablehlo.dot_general %415, %25, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %417 = stablehlo.transpose %416, dims = [0, 2, 1, 3] : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %418 = stablehlo.dot_general %415, %26, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %419 = stablehlo.transpose %418, dims = [0, 2, 1, 3] : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %420 = stablehlo.dot_general %400, %24, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %421 = stablehlo.transpose %420, dims = [2, 0, 1] : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %422 = stablehlo.dot_general %400, %arg8, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %423 = stablehlo.dot_general %417, %24, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %424 = stablehlo.transpose %423, dims = [2, 0, 1] : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %425 = stablehlo.dot_general %417, %arg5, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %426 = stablehlo.add %422, %425 : tensor<4x8x16xf32>
    %427 = stablehlo.dot_general %419, %24, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %428 = stablehlo.transpose %427, dims = [2, 0, 1] : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %429 = stablehlo.dot_general %419, %arg7, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %430 = stablehlo.add %426, %429 : tensor<4x8x16xf32>
    %431 = stablehlo.multiply %21, %430 : tensor<4x8x16xf32>
    %cst_99 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %432 = stablehlo.reduce(%431 init: %cst_99) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %433 = stablehlo.reshape %432 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %434 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %435 = stablehlo.multiply %430, %434 : tensor<4x8x16xf32>
    %cst_100 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %436 = stablehlo.reduce(%433 init: %cst_100) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %437 = stablehlo.multiply %6, %435 : tensor<4x8x16xf32>
    %cst_101 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %438 = stablehlo.reduce(%437 init: %cst_101) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %439 = stablehlo.reshape %438 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %440 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %441 = stablehlo.multiply %435, %440 : tensor<4x8x16xf32>
    %442 = stablehlo.add %393, %441 : tensor<4x8x16xf32>
    %443 = stablehlo.multiply %439, %19 : tensor<4x8x1xf32>
    %cst_102 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %444 = stablehlo.broadcast_in_dim %cst_102, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %445 = stablehlo.divide %443, %444 : tensor<4x8x1xf32>
    %cst_103 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %446 = stablehlo.reduce(%445 init: %cst_103) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %447 = stablehlo.broadcast_in_dim %446, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %448 = stablehlo.multiply %447, %9 : tensor<4x8x16xf32>
    %449 = stablehlo.add %442, %448 : tensor<4x8x16xf32>
    %cst_104 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %450 = stablehlo.broadcast_in_dim %cst_104, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %451 = "stablehlo.scatter"(%450, %5, %449) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg21: tensor<f32>, %arg22: tensor<f32>):
      %509 = stablehlo.add %arg21, %arg22 : tensor<f32>
      stablehlo.return %509 : tensor<f32>
    }) : (tensor<32x16xf32>, tensor<4x8x1xi32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %cst_105 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %452 = stablehlo.broadcast_in_dim %cst_105, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %453 = stablehlo.multiply %452, %451 : tensor<32x16xf32>
    %454 = stablehlo.subtract %arg0, %453 : tensor<32x16xf32>
    %cst_106 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %455 = stablehlo.broadcast_in_dim %cst_106, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %456 = stablehlo.multiply %455, %436 : tensor<16xf32>
    %457 = stablehlo.subtract %arg1, %456 : tensor<16xf32>
    %cst_107 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %458 = stablehlo.broadcast_in_dim %cst_107, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %459 = stablehlo.multiply %458, %380 : tensor<16xf32>
    %460 = stablehlo.subtract %arg2, %459 : tensor<16xf32>
    %cst_108 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %461 = stablehlo.broadcast_in_dim %cst_108, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %462 = stablehlo.multiply %461, %373 : tensor<16x64xf32>
    %463 = stablehlo.subtract %arg3, %462 : tensor<16x64xf32>
    %cst_109 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %464 = stablehlo.broadcast_in_dim %cst_109, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
    %465 = stablehlo.multiply %464, %356 : tensor<64x16xf32>
    %466 = stablehlo.subtract %arg4, %465 : tensor<64x16xf32>
    %cst_110 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %467 = stablehlo.broadcast_in_dim %cst_110, dims = [] : (tensor<f32>) -> tensor<16x4x4xf32>
    %468 = stablehlo.multiply %467, %424 : tensor<16x4x4xf32>
    %469 = stablehlo.subtract %arg5, %468 : tensor<16x4x4xf32>
    %cst_111 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %470 = stablehlo.broadcast_in_dim %cst_111, dims = [] : (tensor<f32>) -> tensor<4x4x16xf32>
    %471 = stablehlo.multiply %470, %395 : tensor<4x4x16xf32>
    %472 = stablehlo.subtract %arg6, %471 : tensor<4x4x16xf32>
    %cst_112 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %473 = stablehlo.broadcast_in_dim %cst_112, dims = [] : (tensor<f32>) -> tensor<16x4x4xf32>
    %474 = stablehlo.multiply %473, %428 : tensor<16x4x4xf32>
    %475 = stablehlo.subtract %arg7, %474 : tensor<16x4x4xf32>
    %cst_113 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %476 = stablehlo.broadcast_in_dim %cst_113, dims = [] : (tensor<f32>) -> tensor<16x4x4xf32>
    %477 = stablehlo.multiply %476, %421 : tensor<16x4x4xf32>
    %478 = stablehlo.subtract %arg8, %477 : tensor<16x4x4xf32>
    %cst_114 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %479 = stablehlo.broadcast_in_dim %cst_114, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %480 = stablehlo.multiply %479, %340 : tensor<16xf32>
    %481 = stablehlo.subtract %arg9, %480 : tensor<16xf32>
    %cst_115 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %482 = stablehlo.broadcast_in_dim %cst_115, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %483 = stablehlo.multiply %482, %284 : tensor<16xf32>
    %484 = stablehlo.subtract %arg10, %483 : tensor<16xf32>
    %cst_116 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %485 = stablehlo.broadcast_in_dim %cst_116, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %486 = stablehlo.multiply %485, %277 : tensor<16x64xf32>
    %487 = stablehlo.subtract %arg11, %486 : tensor<16x64xf32>
    %cst_117 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %488 = stablehlo.broadcast_in_dim %cst_117, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
    %489 = stablehlo.multiply %488, %260 : tensor<64x16xf32>
    %490 = stablehlo.subtract %arg12, %489 : tensor<64x16xf32>
    %cst_118 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %491 = stablehlo.broadcast_in_dim %cst_118, dims = [] : (tensor<f32>) -> tensor<16x4x4xf32>
    %492 = stablehlo.multiply %491, %328 : tensor<16x4x4xf32>
    %493 = stablehlo.subtract %arg13, %492 : tensor<16x4x4xf32>
    %cst_119 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %494 = stablehlo.broadcast_in_dim %cst_119, dims = [] : (tensor<f32>) -> tensor<4x4x16xf32>
    %495 = stablehlo.multiply %494, %299 : tensor<4x4x16xf32>
    %496 = stablehlo.subtract %arg14, %495 : tensor<4x4x16xf32>
    %cst_120 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %497 = stablehlo.broadcast_in_dim %cst_120, dims = [] : (tensor<f32>) -> tensor<16x4x4xf32>
    %498 = stablehlo.multiply %497, %332 : tensor<16x4x4xf32>
    %499 = stablehlo.subtract %arg15, %498 : tensor<16x4x4xf32>
    %cst_121 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %500 = stablehlo.broadcast_in_dim %cst_121, dims = [] : (tensor<f32>) -> tensor<16x4x4xf32>
    %501 = stablehlo.multiply %500, %325 : tensor<16x4x4xf32>
    %502 = stablehlo.subtract %arg16, %501 : tensor<16x4x4xf32>
    %cst_122 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %503 = stablehlo.broadcast_in_dim %cst_122, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %504 = stablehlo.multiply %503, %245 : tensor<16xf32>
    %505 = stablehlo.subtract %arg17, %504 : tensor<16xf32>
    %cst_123 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %506 = stablehlo.broadcast_in_dim %cst_123, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %507 = stablehlo.multiply %506, %238 : tensor<16x32xf32>
    %508 = stablehlo.subtract %arg18, %507 : tensor<16x32xf32>
    return %231, %454, %457, %460, %463, %466, %469, %472, %475, %478, %481, %484, %487, %490, %493, %496, %499, %502, %505, %508 : tensor<f32>, tensor<32x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16x4x4xf32>, tensor<4x4x16xf32>, tensor<16x4x4xf32>, tensor<16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16x4x4xf32>, tensor<4x4x16xf32>, tensor<16x4x4xf32>, tensor<16x4x4xf32>, tensor<16xf32>, tensor<16x32xf32>
  }
  func.func private @tril(%arg0: tensor<8x8xi1>) -> tensor<8x8xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xi32>
    %3 = stablehlo.iota dim = 1 : tensor<8x8xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<8x8xi1>, tensor<8x8xi1>
    return %6 : tensor<8x8xi1>
  }
  func.func private @_where(%arg0: tensor<8x8xi1>, %arg1: tensor<4x4x8x8xf32>, %arg2: tensor<f32>) -> (tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<8x8xi1>) -> tensor<4x4x8x8xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    return %3, %1, %4 : tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
  }
  func.func private @log_softmax(%arg0: tensor<4x8x32xf32>) -> (tensor<4x8x32xf32>, tensor<4x8x32xf32>, tensor<4x8x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<4x8xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<4x8x32xf32>
    %6 = stablehlo.exponential %5 : tensor<4x8x32xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %9 = stablehlo.log %8 : tensor<4x8x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<4x8x32xf32>
    return %11, %6, %8 : tensor<4x8x32xf32>, tensor<4x8x32xf32>, tensor<4x8x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<4x8x32xf32>, %arg1: tensor<4x8x1xi32>) -> (tensor<4x8x1xf32>, tensor<4x8x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x8x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4x8x1xi32>, tensor<4x8x1xi32>) -> tensor<4x8x1xi1>
    %c_0 = stablehlo.constant dense<32> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x8x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4x8x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<4x8x1xi1>, tensor<4x8x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<4x8x1xi32>) -> tensor<4x8x1x1xi32>
    %c_1 = stablehlo.constant dense<31> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x8x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x8x1x1xi32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<4x8x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<4x8x1x1xi32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<4x8x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<4x8x1x1xi1>, tensor<i1>) -> tensor<4x8x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x8x32xf32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<4x8x1xi1>, tensor<4x8x1xf32>
    return %15, %5 : tensor<4x8x1xf32>, tensor<4x8x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<4x8x1x1xi32>, %arg1: tensor<4x8x1xf32>) -> tensor<4x8x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x8x32xf32>, tensor<4x8x1x1xi32>, tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
    return %1 : tensor<4x8x32xf32>
  }
  func.func private @log_softmax_1(%arg0: tensor<4x8x32xf32>, %arg1: tensor<4x8x1xf32>, %arg2: tensor<4x8x32xf32>) -> tensor<4x8x32xf32> {
    %0 = stablehlo.negate %arg2 : tensor<4x8x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
    %2 = stablehlo.reshape %1 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<4x8x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x32xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<4x8x32xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<4x8x32xf32>
    return %7 : tensor<4x8x32xf32>
  }
  func.func private @_where_2(%arg0: tensor<4x4x8x8xi1>, %arg1: tensor<4x4x8x8xf32>, %arg2: tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %1 = stablehlo.select %arg0, %arg2, %0 : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
    return %1 : tensor<4x4x8x8xf32>
  }
}
