module @jit_train_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 1 : i32}, %arg1: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 2 : i32}, %arg2: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 3 : i32}, %arg3: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, tf.aliasing_output = 4 : i32}, %arg4: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 5 : i32}, %arg5: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 6 : i32}, %arg6: tensor<4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}, {}]>, tf.aliasing_output = 7 : i32}, %arg7: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 8 : i32}, %arg8: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 9 : i32}, %arg9: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 10 : i32}, %arg10: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 11 : i32}, %arg11: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, tf.aliasing_output = 12 : i32}, %arg12: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, tf.aliasing_output = 13 : i32}, %arg13: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 14 : i32}, %arg14: tensor<4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}, {}]>, tf.aliasing_output = 15 : i32}, %arg15: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 16 : i32}, %arg16: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>, tf.aliasing_output = 17 : i32}, %arg17: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, tf.aliasing_output = 18 : i32}, %arg18: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, tf.aliasing_output = 19 : i32}, %arg19: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %arg20: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<f32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<32x16xf32> {jax.result_info = "result[1]['embed']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<16xf32> {jax.result_info = "result[1]['layers'][0]['norm1']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16xf32> {jax.result_info = "result[1]['layers'][0]['norm2']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16x64xf32> {jax.result_info = "result[1]['layers'][0]['w1']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, tensor<64x16xf32> {jax.result_info = "result[1]['layers'][0]['w2']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][0]['wk']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<4x4x16xf32> {jax.result_info = "result[1]['layers'][0]['wo']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][0]['wq']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][0]['wv']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<16xf32> {jax.result_info = "result[1]['layers'][1]['norm1']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16xf32> {jax.result_info = "result[1]['layers'][1]['norm2']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16x64xf32> {jax.result_info = "result[1]['layers'][1]['w1']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, tensor<64x16xf32> {jax.result_info = "result[1]['layers'][1]['w2']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][1]['wk']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<4x4x16xf32> {jax.result_info = "result[1]['layers'][1]['wo']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][1]['wq']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<16x4x4xf32> {jax.result_info = "result[1]['layers'][1]['wv']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, tensor<16xf32> {jax.result_info = "result[1]['norm']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16x32xf32> {jax.result_info = "result[1]['unembed']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) {
    %0 = sdy.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<i32>) -> tensor<4x8xi32>
    %2 = stablehlo.compare LT, %arg19, %1, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
    %3 = sdy.constant dense<32> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<i32>) -> tensor<4x8xi32>
    %5 = stablehlo.add %arg19, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : tensor<4x8xi32>
    %6 = stablehlo.select %2, %5, %arg19 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : tensor<4x8xi1>, tensor<4x8xi32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xi32>) -> tensor<4x8x1xi32>
    %8 = "stablehlo.gather"(%arg0, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<32x16xf32>, tensor<4x8x1xi32>) -> tensor<4x8x16xf32>
    %9 = chlo.square %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %10 = sdy.constant dense<2.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x16xf32>
    %12 = stablehlo.multiply %11, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %13 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.reduce(%9 init: %13) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %16 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %18 = stablehlo.divide %15, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %19 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %21 = stablehlo.add %18, %20 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %22 = stablehlo.rsqrt %21 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %23 = stablehlo.divide %22, %21 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %24 = sdy.constant dense<-5.000000e-01> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %26 = stablehlo.multiply %25, %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %27 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %28 = stablehlo.multiply %8, %27 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %29 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %31 = stablehlo.multiply %28, %30 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %32 = stablehlo.dot_general %31, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %33 = stablehlo.dot_general %31, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %34 = stablehlo.dot_general %31, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %35 = stablehlo.dot_general %32, %33, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %36 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %38 = stablehlo.multiply %35, %37 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %39 = sdy.constant dense<true> : tensor<i1>
    %40 = stablehlo.broadcast_in_dim %39, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %41 = sdy.named_computation<"tril">(%40) (%arg21: tensor<8x8xi1>) {
      %610 = sdy.data_flow_edge %arg21 : tensor<8x8xi1>
      %611 = stablehlo.iota dim = 0 : tensor<8x8xi32>
      %612 = sdy.constant dense<0> : tensor<i32>
      %613 = stablehlo.broadcast_in_dim %612, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
      %614 = stablehlo.add %611, %613 : tensor<8x8xi32>
      %615 = stablehlo.iota dim = 1 : tensor<8x8xi32>
      %616 = stablehlo.compare GE, %614, %615, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
      %617 = sdy.constant dense<false> : tensor<i1>
      %618 = stablehlo.broadcast_in_dim %617, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
      %619 = stablehlo.select %616, %610, %618 : tensor<8x8xi1>, tensor<8x8xi1>
      sdy.return %619 : tensor<8x8xi1>
    } : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %42 = sdy.data_flow_edge %41 : tensor<8x8xi1>
    %43 = sdy.constant dense<-1.000000e+30> : tensor<f32>
    %44:3 = sdy.named_computation<"_where">(%42, %38, %43) (%arg21: tensor<8x8xi1>, %arg22: tensor<4x4x8x8xf32>, %arg23: tensor<f32>) {
      %610 = sdy.data_flow_edge %arg21 : tensor<8x8xi1>
      %611 = sdy.data_flow_edge %arg22 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
      %612 = sdy.data_flow_edge %arg23 : tensor<f32>
      %613 = stablehlo.convert %612 : tensor<f32>
      %614 = stablehlo.broadcast_in_dim %610, dims = [2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<8x8xi1>) -> tensor<4x4x8x8xi1>
      %615 = stablehlo.broadcast_in_dim %613, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
      %616 = stablehlo.select %614, %611, %615 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
      %617 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %618 = stablehlo.broadcast_in_dim %617, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
      sdy.return %616, %614, %618 : tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
    } : (tensor<8x8xi1>, tensor<4x4x8x8xf32>, tensor<f32>) -> (tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>)
    %45 = sdy.data_flow_edge %44#0 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
    %46 = sdy.data_flow_edge %44#1 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xi1>
    %47 = sdy.data_flow_edge %44#2 : tensor<4x4x8x8xf32>
    %48 = sdy.constant dense<0xFF800000> : tensor<f32>
    %49 = stablehlo.reduce(%45 init: %48) applies stablehlo.maximum across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %50 = sdy.constant dense<0xFF800000> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8xf32>
    %52 = stablehlo.maximum %51, %49 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : tensor<4x4x8xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %55 = stablehlo.subtract %45, %54 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %56 = stablehlo.exponential %55 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %57 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %58 = stablehlo.reduce(%56 init: %57) applies stablehlo.add across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %61 = stablehlo.divide %56, %60 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %62 = stablehlo.multiply %59, %59 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x1xf32>
    %63 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %63, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x1xf32>
    %65 = stablehlo.divide %64, %62 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x1xf32>
    %66 = stablehlo.dot_general %34, %61, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %67 = stablehlo.transpose %66, dims = [0, 3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %68 = stablehlo.dot_general %67, %arg6, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x4x16xf32>) -> tensor<4x8x16xf32>
    %69 = stablehlo.add %8, %68 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %70 = chlo.square %69 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %71 = sdy.constant dense<2.000000e+00> : tensor<f32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x16xf32>
    %73 = stablehlo.multiply %72, %69 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %74 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %75 = stablehlo.reduce(%70 init: %74) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %77 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %77, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %79 = stablehlo.divide %76, %78 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %80 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %80, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %82 = stablehlo.add %79, %81 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %83 = stablehlo.rsqrt %82 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %84 = stablehlo.divide %83, %82 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %85 = sdy.constant dense<-5.000000e-01> : tensor<f32>
    %86 = stablehlo.broadcast_in_dim %85, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %87 = stablehlo.multiply %86, %84 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %88 = stablehlo.broadcast_in_dim %83, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %89 = stablehlo.multiply %69, %88 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %90 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %91 = stablehlo.broadcast_in_dim %90, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %92 = stablehlo.multiply %89, %91 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %93 = stablehlo.dot_general %92, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x16xf32>, tensor<16x64xf32>) -> tensor<4x8x64xf32>
    %94 = stablehlo.multiply %93, %93 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %95 = stablehlo.multiply %94, %93 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %96 = stablehlo.multiply %93, %93 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %97 = sdy.constant dense<3.000000e+00> : tensor<f32>
    %98 = stablehlo.broadcast_in_dim %97, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %99 = stablehlo.multiply %98, %96 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %100 = sdy.constant dense<4.471500e-02> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %100, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %102 = stablehlo.multiply %101, %95 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %103 = stablehlo.add %93, %102 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %104 = sdy.constant dense<0.797884583> : tensor<f32>
    %105 = stablehlo.broadcast_in_dim %104, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %106 = stablehlo.multiply %105, %103 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %107 = stablehlo.tanh %106 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %108 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %109 = stablehlo.broadcast_in_dim %108, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %110 = stablehlo.subtract %109, %107 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %111 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %112 = stablehlo.broadcast_in_dim %111, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %113 = stablehlo.add %112, %107 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %114 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %115 = stablehlo.broadcast_in_dim %114, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %116 = stablehlo.multiply %115, %113 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %117 = stablehlo.multiply %93, %116 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %118 = stablehlo.dot_general %117, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x64xf32>, tensor<64x16xf32>) -> tensor<4x8x16xf32>
    %119 = stablehlo.add %69, %118 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}, {}]>]>} : tensor<4x8x16xf32>
    %120 = sdy.sharding_constraint %119 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %121 = chlo.square %120 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %122 = sdy.constant dense<2.000000e+00> : tensor<f32>
    %123 = stablehlo.broadcast_in_dim %122, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x16xf32>
    %124 = stablehlo.multiply %123, %120 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %125 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %126 = stablehlo.reduce(%121 init: %125) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %127 = stablehlo.broadcast_in_dim %126, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %128 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %129 = stablehlo.broadcast_in_dim %128, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %130 = stablehlo.divide %127, %129 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %131 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %132 = stablehlo.broadcast_in_dim %131, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %133 = stablehlo.add %130, %132 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %134 = stablehlo.rsqrt %133 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %135 = stablehlo.divide %134, %133 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %136 = sdy.constant dense<-5.000000e-01> : tensor<f32>
    %137 = stablehlo.broadcast_in_dim %136, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %138 = stablehlo.multiply %137, %135 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %139 = stablehlo.broadcast_in_dim %134, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %140 = stablehlo.multiply %120, %139 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %141 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %142 = stablehlo.broadcast_in_dim %141, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %143 = stablehlo.multiply %140, %142 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %144 = stablehlo.dot_general %143, %arg15, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %145 = stablehlo.dot_general %143, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %146 = stablehlo.dot_general %143, %arg16, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %147 = stablehlo.dot_general %144, %145, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %148 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %149 = stablehlo.broadcast_in_dim %148, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %150 = stablehlo.multiply %147, %149 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %151 = sdy.constant dense<true> : tensor<i1>
    %152 = stablehlo.broadcast_in_dim %151, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %153 = sdy.named_computation<"tril">(%152) (%arg21: tensor<8x8xi1>) {
      %610 = sdy.data_flow_edge %arg21 : tensor<8x8xi1>
      %611 = stablehlo.iota dim = 0 : tensor<8x8xi32>
      %612 = sdy.constant dense<0> : tensor<i32>
      %613 = stablehlo.broadcast_in_dim %612, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
      %614 = stablehlo.add %611, %613 : tensor<8x8xi32>
      %615 = stablehlo.iota dim = 1 : tensor<8x8xi32>
      %616 = stablehlo.compare GE, %614, %615, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
      %617 = sdy.constant dense<false> : tensor<i1>
      %618 = stablehlo.broadcast_in_dim %617, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
      %619 = stablehlo.select %616, %610, %618 : tensor<8x8xi1>, tensor<8x8xi1>
      sdy.return %619 : tensor<8x8xi1>
    } : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %154 = sdy.data_flow_edge %153 : tensor<8x8xi1>
    %155 = sdy.constant dense<-1.000000e+30> : tensor<f32>
    %156:3 = sdy.named_computation<"_where">(%154, %150, %155) (%arg21: tensor<8x8xi1>, %arg22: tensor<4x4x8x8xf32>, %arg23: tensor<f32>) {
      %610 = sdy.data_flow_edge %arg21 : tensor<8x8xi1>
      %611 = sdy.data_flow_edge %arg22 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
      %612 = sdy.data_flow_edge %arg23 : tensor<f32>
      %613 = stablehlo.convert %612 : tensor<f32>
      %614 = stablehlo.broadcast_in_dim %610, dims = [2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<8x8xi1>) -> tensor<4x4x8x8xi1>
      %615 = stablehlo.broadcast_in_dim %613, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
      %616 = stablehlo.select %614, %611, %615 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
      %617 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %618 = stablehlo.broadcast_in_dim %617, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
      sdy.return %616, %614, %618 : tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
    } : (tensor<8x8xi1>, tensor<4x4x8x8xf32>, tensor<f32>) -> (tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>)
    %157 = sdy.data_flow_edge %156#0 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
    %158 = sdy.data_flow_edge %156#1 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xi1>
    %159 = sdy.data_flow_edge %156#2 : tensor<4x4x8x8xf32>
    %160 = sdy.constant dense<0xFF800000> : tensor<f32>
    %161 = stablehlo.reduce(%157 init: %160) applies stablehlo.maximum across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %162 = sdy.constant dense<0xFF800000> : tensor<f32>
    %163 = stablehlo.broadcast_in_dim %162, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8xf32>
    %164 = stablehlo.maximum %163, %161 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : tensor<4x4x8xf32>
    %165 = stablehlo.broadcast_in_dim %164, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %166 = stablehlo.broadcast_in_dim %165, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %167 = stablehlo.subtract %157, %166 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %168 = stablehlo.exponential %167 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %169 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %170 = stablehlo.reduce(%168 init: %169) applies stablehlo.add across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %171 = stablehlo.broadcast_in_dim %170, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %172 = stablehlo.broadcast_in_dim %171, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %173 = stablehlo.divide %168, %172 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %174 = stablehlo.multiply %171, %171 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x1xf32>
    %175 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %176 = stablehlo.broadcast_in_dim %175, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x1xf32>
    %177 = stablehlo.divide %176, %174 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x1xf32>
    %178 = stablehlo.dot_general %146, %173, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %179 = stablehlo.transpose %178, dims = [0, 3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %180 = stablehlo.dot_general %179, %arg14, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x4x16xf32>) -> tensor<4x8x16xf32>
    %181 = stablehlo.add %120, %180 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %182 = chlo.square %181 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %183 = sdy.constant dense<2.000000e+00> : tensor<f32>
    %184 = stablehlo.broadcast_in_dim %183, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x16xf32>
    %185 = stablehlo.multiply %184, %181 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %186 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %187 = stablehlo.reduce(%182 init: %186) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %188 = stablehlo.broadcast_in_dim %187, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %189 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %190 = stablehlo.broadcast_in_dim %189, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %191 = stablehlo.divide %188, %190 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %192 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %193 = stablehlo.broadcast_in_dim %192, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %194 = stablehlo.add %191, %193 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %195 = stablehlo.rsqrt %194 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %196 = stablehlo.divide %195, %194 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %197 = sdy.constant dense<-5.000000e-01> : tensor<f32>
    %198 = stablehlo.broadcast_in_dim %197, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %199 = stablehlo.multiply %198, %196 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %200 = stablehlo.broadcast_in_dim %195, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %201 = stablehlo.multiply %181, %200 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %202 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %203 = stablehlo.broadcast_in_dim %202, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %204 = stablehlo.multiply %201, %203 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %205 = stablehlo.dot_general %204, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x16xf32>, tensor<16x64xf32>) -> tensor<4x8x64xf32>
    %206 = stablehlo.multiply %205, %205 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %207 = stablehlo.multiply %206, %205 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %208 = stablehlo.multiply %205, %205 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %209 = sdy.constant dense<3.000000e+00> : tensor<f32>
    %210 = stablehlo.broadcast_in_dim %209, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %211 = stablehlo.multiply %210, %208 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %212 = sdy.constant dense<4.471500e-02> : tensor<f32>
    %213 = stablehlo.broadcast_in_dim %212, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %214 = stablehlo.multiply %213, %207 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %215 = stablehlo.add %205, %214 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %216 = sdy.constant dense<0.797884583> : tensor<f32>
    %217 = stablehlo.broadcast_in_dim %216, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %218 = stablehlo.multiply %217, %215 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %219 = stablehlo.tanh %218 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %220 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %221 = stablehlo.broadcast_in_dim %220, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %222 = stablehlo.subtract %221, %219 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %223 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %224 = stablehlo.broadcast_in_dim %223, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %225 = stablehlo.add %224, %219 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %226 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %227 = stablehlo.broadcast_in_dim %226, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %228 = stablehlo.multiply %227, %225 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %229 = stablehlo.multiply %205, %228 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %230 = stablehlo.dot_general %229, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x64xf32>, tensor<64x16xf32>) -> tensor<4x8x16xf32>
    %231 = stablehlo.add %181, %230 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}, {}]>]>} : tensor<4x8x16xf32>
    %232 = sdy.sharding_constraint %231 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %233 = chlo.square %232 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %234 = sdy.constant dense<2.000000e+00> : tensor<f32>
    %235 = stablehlo.broadcast_in_dim %234, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x16xf32>
    %236 = stablehlo.multiply %235, %232 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %237 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %238 = stablehlo.reduce(%233 init: %237) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %239 = stablehlo.broadcast_in_dim %238, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %240 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %241 = stablehlo.broadcast_in_dim %240, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %242 = stablehlo.divide %239, %241 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %243 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %244 = stablehlo.broadcast_in_dim %243, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %245 = stablehlo.add %242, %244 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %246 = stablehlo.rsqrt %245 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %247 = stablehlo.divide %246, %245 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %248 = sdy.constant dense<-5.000000e-01> : tensor<f32>
    %249 = stablehlo.broadcast_in_dim %248, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %250 = stablehlo.multiply %249, %247 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %251 = stablehlo.broadcast_in_dim %246, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %252 = stablehlo.multiply %232, %251 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %253 = stablehlo.broadcast_in_dim %arg17, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %254 = stablehlo.broadcast_in_dim %253, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %255 = stablehlo.multiply %252, %254 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %256 = stablehlo.dot_general %255, %arg18, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    %257:3 = sdy.named_computation<"log_softmax">(%256) (%arg21: tensor<4x8x32xf32>) {
      %610 = sdy.data_flow_edge %arg21 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
      %611 = sdy.constant dense<0xFF800000> : tensor<f32>
      %612 = stablehlo.reduce(%610 init: %611) applies stablehlo.maximum across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
      %613 = sdy.constant dense<0xFF800000> : tensor<f32>
      %614 = stablehlo.broadcast_in_dim %613, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8xf32>
      %615 = stablehlo.maximum %614, %612 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : tensor<4x8xf32>
      %616 = stablehlo.broadcast_in_dim %615, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
      %617 = stablehlo.broadcast_in_dim %616, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
      %618 = stablehlo.subtract %610, %617 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x32xf32>
      %619 = stablehlo.exponential %618 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x32xf32>
      %620 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %621 = stablehlo.reduce(%619 init: %620) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
      %622 = stablehlo.broadcast_in_dim %621, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
      %623 = stablehlo.log %622 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
      %624 = stablehlo.broadcast_in_dim %623, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
      %625 = stablehlo.subtract %618, %624 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x32xf32>
      sdy.return %625, %619, %622 : tensor<4x8x32xf32>, tensor<4x8x32xf32>, tensor<4x8x1xf32>
    } : (tensor<4x8x32xf32>) -> (tensor<4x8x32xf32>, tensor<4x8x32xf32>, tensor<4x8x1xf32>)
    %258 = sdy.data_flow_edge %257#0 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
    %259 = sdy.data_flow_edge %257#1 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
    %260 = sdy.data_flow_edge %257#2 sharding=<@mesh, [{"data", ?}, {?}, {?}]> : tensor<4x8x1xf32>
    %261 = stablehlo.broadcast_in_dim %arg20, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xi32>) -> tensor<4x8x1xi32>
    %262:2 = sdy.named_computation<"take_along_axis">(%258, %261) (%arg21: tensor<4x8x32xf32>, %arg22: tensor<4x8x1xi32>) {
      %610 = sdy.data_flow_edge %arg21 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
      %611 = sdy.data_flow_edge %arg22 sharding=<@mesh, [{"data", ?}, {?}, {?}]> : tensor<4x8x1xi32>
      %612 = sdy.constant dense<0> : tensor<i32>
      %613 = stablehlo.broadcast_in_dim %612, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<i32>) -> tensor<4x8x1xi32>
      %614 = stablehlo.compare LT, %611, %613, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xi32>, tensor<4x8x1xi32>) -> tensor<4x8x1xi1>
      %615 = sdy.constant dense<32> : tensor<i32>
      %616 = stablehlo.broadcast_in_dim %615, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<i32>) -> tensor<4x8x1xi32>
      %617 = stablehlo.add %611, %616 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xi32>
      %618 = stablehlo.select %614, %617, %611 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xi1>, tensor<4x8x1xi32>
      %619 = stablehlo.reshape %618 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : (tensor<4x8x1xi32>) -> tensor<4x8x1x1xi32>
      %620 = sdy.constant dense<31> : tensor<1xi32>
      %621 = sdy.constant dense<0> : tensor<i32>
      %622 = stablehlo.broadcast_in_dim %621, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : (tensor<i32>) -> tensor<4x8x1x1xi32>
      %623 = stablehlo.compare GE, %619, %622, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : (tensor<4x8x1x1xi32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1x1xi1>
      %624 = stablehlo.broadcast_in_dim %620, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
      %625 = stablehlo.broadcast_in_dim %624, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : (tensor<1x1x1x1xi32>) -> tensor<4x8x1x1xi32>
      %626 = stablehlo.compare LE, %619, %625, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : (tensor<4x8x1x1xi32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1x1xi1>
      %627 = stablehlo.and %623, %626 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : tensor<4x8x1x1xi1>
      %628 = sdy.constant dense<true> : tensor<i1>
      %629 = stablehlo.reduce(%627 init: %628) applies stablehlo.and across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1x1xi1>, tensor<i1>) -> tensor<4x8x1xi1>
      %630 = "stablehlo.gather"(%610, %619) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x32xf32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1xf32>
      %631 = sdy.constant dense<0x7FC00000> : tensor<f32>
      %632 = stablehlo.broadcast_in_dim %631, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
      %633 = stablehlo.select %629, %630, %632 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xi1>, tensor<4x8x1xf32>
      sdy.return %633, %619 : tensor<4x8x1xf32>, tensor<4x8x1x1xi32>
    } : (tensor<4x8x32xf32>, tensor<4x8x1xi32>) -> (tensor<4x8x1xf32>, tensor<4x8x1x1xi32>)
    %263 = sdy.data_flow_edge %262#0 sharding=<@mesh, [{"data", ?}, {?}, {?}]> : tensor<4x8x1xf32>
    %264 = sdy.data_flow_edge %262#1 sharding=<@mesh, [{"data", ?}, {?}, {?}, {?}]> : tensor<4x8x1x1xi32>
    %265 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %266 = stablehlo.reduce(%263 init: %265) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<f32>
    %267 = sdy.constant dense<3.200000e+01> : tensor<f32>
    %268 = stablehlo.divide %266, %267 : tensor<f32>
    %269 = stablehlo.negate %268 : tensor<f32>
    %270 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %271 = stablehlo.negate %270 : tensor<f32>
    %272 = sdy.constant dense<3.200000e+01> : tensor<f32>
    %273 = stablehlo.divide %271, %272 : tensor<f32>
    %274 = stablehlo.broadcast_in_dim %273, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %275 = sdy.named_computation<"take_along_axis_0">(%264, %274) (%arg21: tensor<4x8x1x1xi32>, %arg22: tensor<4x8x1xf32>) {
      %610 = sdy.data_flow_edge %arg21 sharding=<@mesh, [{"data", ?}, {?}, {?}, {?}]> : tensor<4x8x1x1xi32>
      %611 = sdy.data_flow_edge %arg22 sharding=<@mesh, [{"data", ?}, {?}, {?}]> : tensor<4x8x1xf32>
      %612 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %613 = stablehlo.broadcast_in_dim %612, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x32xf32>
      %614 = "stablehlo.scatter"(%613, %610, %611) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
      ^bb0(%arg23: tensor<f32>, %arg24: tensor<f32>):
        %615 = stablehlo.add %arg23, %arg24 : tensor<f32>
        stablehlo.return %615 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x32xf32>, tensor<4x8x1x1xi32>, tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
      sdy.return %614 : tensor<4x8x32xf32>
    } : (tensor<4x8x1x1xi32>, tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
    %276 = sdy.data_flow_edge %275 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
    %277 = sdy.named_computation<"log_softmax_1">(%259, %260, %276) (%arg21: tensor<4x8x32xf32>, %arg22: tensor<4x8x1xf32>, %arg23: tensor<4x8x32xf32>) {
      %610 = sdy.data_flow_edge %arg21 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
      %611 = sdy.data_flow_edge %arg22 sharding=<@mesh, [{"data", ?}, {?}, {?}]> : tensor<4x8x1xf32>
      %612 = sdy.data_flow_edge %arg23 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
      %613 = stablehlo.negate %612 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x32xf32>
      %614 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %615 = stablehlo.reduce(%613 init: %614) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
      %616 = stablehlo.reshape %615 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
      %617 = stablehlo.divide %616, %611 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
      %618 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %619 = stablehlo.reduce(%617 init: %618) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
      %620 = stablehlo.broadcast_in_dim %619, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x32xf32>
      %621 = stablehlo.multiply %620, %610 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x32xf32>
      %622 = stablehlo.add %612, %621 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x32xf32>
      sdy.return %622 : tensor<4x8x32xf32>
    } : (tensor<4x8x32xf32>, tensor<4x8x1xf32>, tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    %278 = sdy.data_flow_edge %277 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
    %279 = stablehlo.dot_general %278, %255, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<4x8x32xf32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %280 = stablehlo.transpose %279, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %281 = stablehlo.dot_general %278, %arg18, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x32xf32>, tensor<16x32xf32>) -> tensor<4x8x16xf32>
    %282 = stablehlo.multiply %252, %281 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %283 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %284 = stablehlo.reduce(%282 init: %283) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %285 = stablehlo.reshape %284 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %286 = stablehlo.broadcast_in_dim %253, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %287 = stablehlo.multiply %281, %286 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %288 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %289 = stablehlo.reduce(%285 init: %288) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %290 = stablehlo.multiply %232, %287 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %291 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %292 = stablehlo.reduce(%290 init: %291) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %293 = stablehlo.reshape %292 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %294 = stablehlo.broadcast_in_dim %246, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %295 = stablehlo.multiply %287, %294 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %296 = stablehlo.multiply %293, %250 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %297 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %298 = stablehlo.broadcast_in_dim %297, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %299 = stablehlo.divide %296, %298 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %300 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %301 = stablehlo.reduce(%299 init: %300) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %302 = stablehlo.broadcast_in_dim %301, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %303 = stablehlo.multiply %302, %236 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %304 = stablehlo.add %295, %303 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}, {}]>]>} : tensor<4x8x16xf32>
    %305 = sdy.sharding_constraint %304 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %306 = stablehlo.dot_general %305, %229, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<4x8x16xf32>, tensor<4x8x64xf32>) -> tensor<16x64xf32>
    %307 = stablehlo.transpose %306, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<16x64xf32>) -> tensor<64x16xf32>
    %308 = stablehlo.dot_general %305, %arg12, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32>
    %309 = stablehlo.multiply %205, %308 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %310 = stablehlo.multiply %308, %228 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %311 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %312 = stablehlo.broadcast_in_dim %311, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %313 = stablehlo.multiply %312, %309 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %314 = stablehlo.multiply %313, %222 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %315 = stablehlo.multiply %314, %219 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %316 = stablehlo.add %314, %315 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %317 = sdy.constant dense<0.797884583> : tensor<f32>
    %318 = stablehlo.broadcast_in_dim %317, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %319 = stablehlo.multiply %318, %316 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %320 = stablehlo.add %310, %319 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %321 = sdy.constant dense<4.471500e-02> : tensor<f32>
    %322 = stablehlo.broadcast_in_dim %321, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %323 = stablehlo.multiply %322, %319 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %324 = stablehlo.multiply %323, %211 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %325 = stablehlo.add %320, %324 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %326 = stablehlo.dot_general %325, %204, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<4x8x64xf32>, tensor<4x8x16xf32>) -> tensor<64x16xf32>
    %327 = stablehlo.transpose %326, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<64x16xf32>) -> tensor<16x64xf32>
    %328 = stablehlo.dot_general %325, %arg11, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x64xf32>, tensor<16x64xf32>) -> tensor<4x8x16xf32>
    %329 = stablehlo.multiply %201, %328 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %330 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %331 = stablehlo.reduce(%329 init: %330) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %332 = stablehlo.reshape %331 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %333 = stablehlo.broadcast_in_dim %202, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %334 = stablehlo.multiply %328, %333 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %335 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %336 = stablehlo.reduce(%332 init: %335) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %337 = stablehlo.multiply %181, %334 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %338 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %339 = stablehlo.reduce(%337 init: %338) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %340 = stablehlo.reshape %339 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %341 = stablehlo.broadcast_in_dim %195, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %342 = stablehlo.multiply %334, %341 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %343 = stablehlo.add %305, %342 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %344 = stablehlo.multiply %340, %199 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %345 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %346 = stablehlo.broadcast_in_dim %345, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %347 = stablehlo.divide %344, %346 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %348 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %349 = stablehlo.reduce(%347 init: %348) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %350 = stablehlo.broadcast_in_dim %349, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %351 = stablehlo.multiply %350, %185 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %352 = stablehlo.add %343, %351 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %353 = stablehlo.dot_general %352, %179, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<4x8x4x4xf32>) -> tensor<16x4x4xf32>
    %354 = stablehlo.transpose %353, dims = [1, 2, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : (tensor<16x4x4xf32>) -> tensor<4x4x16xf32>
    %355 = stablehlo.dot_general %352, %arg14, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<4x4x16xf32>) -> tensor<4x8x4x4xf32>
    %356 = stablehlo.transpose %355, dims = [0, 2, 3, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>) -> tensor<4x4x4x8xf32>
    %357 = stablehlo.dot_general %356, %146, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x4x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %358 = stablehlo.dot_general %356, %173, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x4x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %359 = stablehlo.transpose %358, dims = [0, 3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %360 = stablehlo.broadcast_in_dim %177, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %361 = stablehlo.multiply %357, %360 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %362 = stablehlo.multiply %361, %168 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %363 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %364 = stablehlo.reduce(%362 init: %363) applies stablehlo.add across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %365 = stablehlo.reshape %364 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %366 = stablehlo.negate %365 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x1xf32>
    %367 = stablehlo.broadcast_in_dim %171, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %368 = stablehlo.divide %357, %367 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %369 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %370 = stablehlo.reduce(%366 init: %369) applies stablehlo.add across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x1xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %371 = stablehlo.broadcast_in_dim %370, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x8xf32>
    %372 = stablehlo.add %368, %371 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %373 = stablehlo.multiply %372, %168 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %374 = sdy.named_computation<"_where_2">(%158, %159, %373) (%arg21: tensor<4x4x8x8xi1>, %arg22: tensor<4x4x8x8xf32>, %arg23: tensor<4x4x8x8xf32>) {
      %610 = sdy.data_flow_edge %arg21 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xi1>
      %611 = sdy.data_flow_edge %arg22 : tensor<4x4x8x8xf32>
      %612 = sdy.data_flow_edge %arg23 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
      %613 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %614 = stablehlo.broadcast_in_dim %613, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
      %615 = stablehlo.select %610, %612, %614 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
      sdy.return %615 : tensor<4x4x8x8xf32>
    } : (tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>
    %375 = sdy.data_flow_edge %374 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
    %376 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %377 = stablehlo.broadcast_in_dim %376, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %378 = stablehlo.multiply %375, %377 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %379 = stablehlo.dot_general %378, %144, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %380 = stablehlo.transpose %379, dims = [0, 2, 1, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %381 = stablehlo.dot_general %378, %145, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %382 = stablehlo.transpose %381, dims = [0, 2, 1, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %383 = stablehlo.dot_general %359, %143, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %384 = stablehlo.transpose %383, dims = [2, 0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %385 = stablehlo.dot_general %359, %arg16, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %386 = stablehlo.dot_general %380, %143, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %387 = stablehlo.transpose %386, dims = [2, 0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %388 = stablehlo.dot_general %380, %arg13, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %389 = stablehlo.add %385, %388 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %390 = stablehlo.dot_general %382, %143, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %391 = stablehlo.transpose %390, dims = [2, 0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %392 = stablehlo.dot_general %382, %arg15, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %393 = stablehlo.add %389, %392 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %394 = stablehlo.multiply %140, %393 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %395 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %396 = stablehlo.reduce(%394 init: %395) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %397 = stablehlo.reshape %396 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %398 = stablehlo.broadcast_in_dim %141, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %399 = stablehlo.multiply %393, %398 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %400 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %401 = stablehlo.reduce(%397 init: %400) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %402 = stablehlo.multiply %120, %399 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %403 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %404 = stablehlo.reduce(%402 init: %403) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %405 = stablehlo.reshape %404 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %406 = stablehlo.broadcast_in_dim %134, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %407 = stablehlo.multiply %399, %406 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %408 = stablehlo.add %352, %407 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %409 = stablehlo.multiply %405, %138 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %410 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %411 = stablehlo.broadcast_in_dim %410, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %412 = stablehlo.divide %409, %411 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %413 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %414 = stablehlo.reduce(%412 init: %413) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %415 = stablehlo.broadcast_in_dim %414, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %416 = stablehlo.multiply %415, %124 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %417 = stablehlo.add %408, %416 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}, {}]>]>} : tensor<4x8x16xf32>
    %418 = sdy.sharding_constraint %417 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %419 = stablehlo.dot_general %418, %117, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<4x8x16xf32>, tensor<4x8x64xf32>) -> tensor<16x64xf32>
    %420 = stablehlo.transpose %419, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<16x64xf32>) -> tensor<64x16xf32>
    %421 = stablehlo.dot_general %418, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x16xf32>, tensor<64x16xf32>) -> tensor<4x8x64xf32>
    %422 = stablehlo.multiply %93, %421 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %423 = stablehlo.multiply %421, %116 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %424 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %425 = stablehlo.broadcast_in_dim %424, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %426 = stablehlo.multiply %425, %422 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %427 = stablehlo.multiply %426, %110 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %428 = stablehlo.multiply %427, %107 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %429 = stablehlo.add %427, %428 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %430 = sdy.constant dense<0.797884583> : tensor<f32>
    %431 = stablehlo.broadcast_in_dim %430, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %432 = stablehlo.multiply %431, %429 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %433 = stablehlo.add %423, %432 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %434 = sdy.constant dense<4.471500e-02> : tensor<f32>
    %435 = stablehlo.broadcast_in_dim %434, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %436 = stablehlo.multiply %435, %432 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %437 = stablehlo.multiply %436, %99 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %438 = stablehlo.add %433, %437 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %439 = stablehlo.dot_general %438, %92, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<4x8x64xf32>, tensor<4x8x16xf32>) -> tensor<64x16xf32>
    %440 = stablehlo.transpose %439, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<64x16xf32>) -> tensor<16x64xf32>
    %441 = stablehlo.dot_general %438, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x64xf32>, tensor<16x64xf32>) -> tensor<4x8x16xf32>
    %442 = stablehlo.multiply %89, %441 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %443 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %444 = stablehlo.reduce(%442 init: %443) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %445 = stablehlo.reshape %444 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %446 = stablehlo.broadcast_in_dim %90, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %447 = stablehlo.multiply %441, %446 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %448 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %449 = stablehlo.reduce(%445 init: %448) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %450 = stablehlo.multiply %69, %447 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %451 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %452 = stablehlo.reduce(%450 init: %451) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %453 = stablehlo.reshape %452 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %454 = stablehlo.broadcast_in_dim %83, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %455 = stablehlo.multiply %447, %454 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %456 = stablehlo.add %418, %455 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %457 = stablehlo.multiply %453, %87 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %458 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %459 = stablehlo.broadcast_in_dim %458, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %460 = stablehlo.divide %457, %459 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %461 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %462 = stablehlo.reduce(%460 init: %461) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %463 = stablehlo.broadcast_in_dim %462, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %464 = stablehlo.multiply %463, %73 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %465 = stablehlo.add %456, %464 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %466 = stablehlo.dot_general %465, %67, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<4x8x4x4xf32>) -> tensor<16x4x4xf32>
    %467 = stablehlo.transpose %466, dims = [1, 2, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : (tensor<16x4x4xf32>) -> tensor<4x4x16xf32>
    %468 = stablehlo.dot_general %465, %arg6, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<4x4x16xf32>) -> tensor<4x8x4x4xf32>
    %469 = stablehlo.transpose %468, dims = [0, 2, 3, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>) -> tensor<4x4x4x8xf32>
    %470 = stablehlo.dot_general %469, %34, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x4x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %471 = stablehlo.dot_general %469, %61, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x4x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %472 = stablehlo.transpose %471, dims = [0, 3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %473 = stablehlo.broadcast_in_dim %65, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %474 = stablehlo.multiply %470, %473 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %475 = stablehlo.multiply %474, %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %476 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %477 = stablehlo.reduce(%475 init: %476) applies stablehlo.add across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %478 = stablehlo.reshape %477 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %479 = stablehlo.negate %478 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x1xf32>
    %480 = stablehlo.broadcast_in_dim %59, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %481 = stablehlo.divide %470, %480 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %482 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %483 = stablehlo.reduce(%479 init: %482) applies stablehlo.add across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x1xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %484 = stablehlo.broadcast_in_dim %483, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x8xf32>
    %485 = stablehlo.add %481, %484 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %486 = stablehlo.multiply %485, %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %487 = sdy.named_computation<"_where_2">(%46, %47, %486) (%arg21: tensor<4x4x8x8xi1>, %arg22: tensor<4x4x8x8xf32>, %arg23: tensor<4x4x8x8xf32>) {
      %610 = sdy.data_flow_edge %arg21 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xi1>
      %611 = sdy.data_flow_edge %arg22 : tensor<4x4x8x8xf32>
      %612 = sdy.data_flow_edge %arg23 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
      %613 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %614 = stablehlo.broadcast_in_dim %613, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
      %615 = stablehlo.select %610, %612, %614 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
      sdy.return %615 : tensor<4x4x8x8xf32>
    } : (tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>
    %488 = sdy.data_flow_edge %487 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
    %489 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %490 = stablehlo.broadcast_in_dim %489, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %491 = stablehlo.multiply %488, %490 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %492 = stablehlo.dot_general %491, %32, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %493 = stablehlo.transpose %492, dims = [0, 2, 1, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %494 = stablehlo.dot_general %491, %33, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %495 = stablehlo.transpose %494, dims = [0, 2, 1, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %496 = stablehlo.dot_general %472, %31, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %497 = stablehlo.transpose %496, dims = [2, 0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %498 = stablehlo.dot_general %472, %arg8, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %499 = stablehlo.dot_general %493, %31, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %500 = stablehlo.transpose %499, dims = [2, 0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %501 = stablehlo.dot_general %493, %arg5, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %502 = stablehlo.add %498, %501 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %503 = stablehlo.dot_general %495, %31, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x8x16xf32>) -> tensor<4x4x16xf32>
    %504 = stablehlo.transpose %503, dims = [2, 0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<4x4x16xf32>) -> tensor<16x4x4xf32>
    %505 = stablehlo.dot_general %495, %arg7, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<16x4x4xf32>) -> tensor<4x8x16xf32>
    %506 = stablehlo.add %502, %505 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %507 = stablehlo.multiply %28, %506 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %508 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %509 = stablehlo.reduce(%507 init: %508) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %510 = stablehlo.reshape %509 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %511 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %512 = stablehlo.multiply %506, %511 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %513 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %514 = stablehlo.reduce(%510 init: %513) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %515 = stablehlo.multiply %8, %512 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %516 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %517 = stablehlo.reduce(%515 init: %516) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %518 = stablehlo.reshape %517 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %519 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %520 = stablehlo.multiply %512, %519 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %521 = stablehlo.add %465, %520 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %522 = stablehlo.multiply %518, %26 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %523 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %524 = stablehlo.broadcast_in_dim %523, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %525 = stablehlo.divide %522, %524 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %526 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %527 = stablehlo.reduce(%525 init: %526) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %528 = stablehlo.broadcast_in_dim %527, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %529 = stablehlo.multiply %528, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %530 = stablehlo.add %521, %529 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %531 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %532 = stablehlo.broadcast_in_dim %531, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<32x16xf32>
    %533 = "stablehlo.scatter"(%532, %7, %530) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg21: tensor<f32>, %arg22: tensor<f32>):
      %610 = stablehlo.add %arg21, %arg22 : tensor<f32>
      stablehlo.return %610 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<32x16xf32>, tensor<4x8x1xi32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %534 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %535 = stablehlo.broadcast_in_dim %534, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<32x16xf32>
    %536 = stablehlo.multiply %535, %533 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : tensor<32x16xf32>
    %537 = stablehlo.subtract %arg0, %536 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : tensor<32x16xf32>
    %538 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %539 = stablehlo.broadcast_in_dim %538, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %540 = stablehlo.multiply %539, %514 : tensor<16xf32>
    %541 = stablehlo.subtract %arg1, %540 : tensor<16xf32>
    %542 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %543 = stablehlo.broadcast_in_dim %542, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %544 = stablehlo.multiply %543, %449 : tensor<16xf32>
    %545 = stablehlo.subtract %arg2, %544 : tensor<16xf32>
    %546 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %547 = stablehlo.broadcast_in_dim %546, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<16x64xf32>
    %548 = stablehlo.multiply %547, %440 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : tensor<16x64xf32>
    %549 = stablehlo.subtract %arg3, %548 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : tensor<16x64xf32>
    %550 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %551 = stablehlo.broadcast_in_dim %550, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<64x16xf32>
    %552 = stablehlo.multiply %551, %420 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : tensor<64x16xf32>
    %553 = stablehlo.subtract %arg4, %552 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : tensor<64x16xf32>
    %554 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %555 = stablehlo.broadcast_in_dim %554, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<16x4x4xf32>
    %556 = stablehlo.multiply %555, %500 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %557 = stablehlo.subtract %arg5, %556 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %558 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %559 = stablehlo.broadcast_in_dim %558, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x16xf32>
    %560 = stablehlo.multiply %559, %467 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : tensor<4x4x16xf32>
    %561 = stablehlo.subtract %arg6, %560 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : tensor<4x4x16xf32>
    %562 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %563 = stablehlo.broadcast_in_dim %562, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<16x4x4xf32>
    %564 = stablehlo.multiply %563, %504 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %565 = stablehlo.subtract %arg7, %564 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %566 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %567 = stablehlo.broadcast_in_dim %566, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<16x4x4xf32>
    %568 = stablehlo.multiply %567, %497 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %569 = stablehlo.subtract %arg8, %568 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %570 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %571 = stablehlo.broadcast_in_dim %570, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %572 = stablehlo.multiply %571, %401 : tensor<16xf32>
    %573 = stablehlo.subtract %arg9, %572 : tensor<16xf32>
    %574 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %575 = stablehlo.broadcast_in_dim %574, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %576 = stablehlo.multiply %575, %336 : tensor<16xf32>
    %577 = stablehlo.subtract %arg10, %576 : tensor<16xf32>
    %578 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %579 = stablehlo.broadcast_in_dim %578, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<16x64xf32>
    %580 = stablehlo.multiply %579, %327 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : tensor<16x64xf32>
    %581 = stablehlo.subtract %arg11, %580 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : tensor<16x64xf32>
    %582 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %583 = stablehlo.broadcast_in_dim %582, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<64x16xf32>
    %584 = stablehlo.multiply %583, %307 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : tensor<64x16xf32>
    %585 = stablehlo.subtract %arg12, %584 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : tensor<64x16xf32>
    %586 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %587 = stablehlo.broadcast_in_dim %586, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<16x4x4xf32>
    %588 = stablehlo.multiply %587, %387 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %589 = stablehlo.subtract %arg13, %588 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %590 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %591 = stablehlo.broadcast_in_dim %590, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x16xf32>
    %592 = stablehlo.multiply %591, %354 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : tensor<4x4x16xf32>
    %593 = stablehlo.subtract %arg14, %592 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}, {?}]>]>} : tensor<4x4x16xf32>
    %594 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %595 = stablehlo.broadcast_in_dim %594, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<16x4x4xf32>
    %596 = stablehlo.multiply %595, %391 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %597 = stablehlo.subtract %arg15, %596 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %598 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %599 = stablehlo.broadcast_in_dim %598, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<16x4x4xf32>
    %600 = stablehlo.multiply %599, %384 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %601 = stablehlo.subtract %arg16, %600 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}, {?}]>]>} : tensor<16x4x4xf32>
    %602 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %603 = stablehlo.broadcast_in_dim %602, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %604 = stablehlo.multiply %603, %289 : tensor<16xf32>
    %605 = stablehlo.subtract %arg17, %604 : tensor<16xf32>
    %606 = sdy.constant dense<1.250000e-01> : tensor<f32>
    %607 = stablehlo.broadcast_in_dim %606, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<16x32xf32>
    %608 = stablehlo.multiply %607, %280 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : tensor<16x32xf32>
    %609 = stablehlo.subtract %arg18, %608 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : tensor<16x32xf32>
    return %269, %537, %541, %545, %549, %553, %557, %561, %565, %569, %573, %577, %581, %585, %589, %593, %597, %601, %605, %609 : tensor<f32>, tensor<32x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16x4x4xf32>, tensor<4x4x16xf32>, tensor<16x4x4xf32>, tensor<16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<16x4x4xf32>, tensor<4x4x16xf32>, tensor<16x4x4xf32>, tensor<16x4x4xf32>, tensor<16xf32>, tensor<16x32xf32>
  }
}
