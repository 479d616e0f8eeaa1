module @jit_loss_and_logits attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, %arg1: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg2: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg3: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, %arg4: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, %arg5: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, %arg6: tensor<4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}, {}]>}, %arg7: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, %arg8: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, %arg9: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg10: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg11: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, %arg12: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, %arg13: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, %arg14: tensor<4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}, {}]>}, %arg15: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, %arg16: tensor<16x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, %arg17: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg18: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, %arg19: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %arg20: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<f32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<4x8x32xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {"model"}]>}) {
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
    %10 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%9 init: %10) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %13 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %15 = stablehlo.divide %12, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %16 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %18 = stablehlo.add %15, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %19 = stablehlo.rsqrt %18 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %21 = stablehlo.multiply %8, %20 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %22 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %24 = stablehlo.multiply %21, %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %25 = stablehlo.dot_general %24, %arg7, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %26 = stablehlo.dot_general %24, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %27 = stablehlo.dot_general %24, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %28 = stablehlo.dot_general %25, %26, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %29 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %31 = stablehlo.multiply %28, %30 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %32 = sdy.constant dense<true> : tensor<i1>
    %33 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %34 = sdy.named_computation<"tril">(%33) (%arg21: tensor<8x8xi1>) {
      %206 = sdy.data_flow_edge %arg21 : tensor<8x8xi1>
      %207 = stablehlo.iota dim = 0 : tensor<8x8xi32>
      %208 = sdy.constant dense<0> : tensor<i32>
      %209 = stablehlo.broadcast_in_dim %208, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
      %210 = stablehlo.add %207, %209 : tensor<8x8xi32>
      %211 = stablehlo.iota dim = 1 : tensor<8x8xi32>
      %212 = stablehlo.compare GE, %210, %211, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
      %213 = sdy.constant dense<false> : tensor<i1>
      %214 = stablehlo.broadcast_in_dim %213, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
      %215 = stablehlo.select %212, %206, %214 : tensor<8x8xi1>, tensor<8x8xi1>
      sdy.return %215 : tensor<8x8xi1>
    } : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %35 = sdy.data_flow_edge %34 : tensor<8x8xi1>
    %36 = sdy.constant dense<-1.000000e+30> : tensor<f32>
    %37 = sdy.named_computation<"_where">(%35, %31, %36) (%arg21: tensor<8x8xi1>, %arg22: tensor<4x4x8x8xf32>, %arg23: tensor<f32>) {
      %206 = sdy.data_flow_edge %arg21 : tensor<8x8xi1>
      %207 = sdy.data_flow_edge %arg22 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
      %208 = sdy.data_flow_edge %arg23 : tensor<f32>
      %209 = stablehlo.convert %208 : tensor<f32>
      %210 = stablehlo.broadcast_in_dim %206, dims = [2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<8x8xi1>) -> tensor<4x4x8x8xi1>
      %211 = stablehlo.broadcast_in_dim %209, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
      %212 = stablehlo.select %210, %207, %211 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
      sdy.return %212 : tensor<4x4x8x8xf32>
    } : (tensor<8x8xi1>, tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8x8xf32>
    %38 = sdy.data_flow_edge %37 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
    %39 = sdy.constant dense<0xFF800000> : tensor<f32>
    %40 = stablehlo.reduce(%38 init: %39) applies stablehlo.maximum across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %41 = sdy.constant dense<0xFF800000> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8xf32>
    %43 = stablehlo.maximum %42, %40 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : tensor<4x4x8xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %46 = stablehlo.subtract %38, %45 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %47 = stablehlo.exponential %46 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %48 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %49 = stablehlo.reduce(%47 init: %48) applies stablehlo.add across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %52 = stablehlo.divide %47, %51 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %53 = stablehlo.dot_general %27, %52, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %54 = stablehlo.transpose %53, dims = [0, 3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %55 = stablehlo.dot_general %54, %arg6, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x4x16xf32>) -> tensor<4x8x16xf32>
    %56 = stablehlo.add %8, %55 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %57 = chlo.square %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %58 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %59 = stablehlo.reduce(%57 init: %58) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %61 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %63 = stablehlo.divide %60, %62 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %64 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %66 = stablehlo.add %63, %65 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %67 = stablehlo.rsqrt %66 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %68 = stablehlo.broadcast_in_dim %67, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %69 = stablehlo.multiply %56, %68 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %70 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %72 = stablehlo.multiply %69, %71 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %73 = stablehlo.dot_general %72, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x16xf32>, tensor<16x64xf32>) -> tensor<4x8x64xf32>
    %74 = stablehlo.multiply %73, %73 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %75 = stablehlo.multiply %74, %73 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %76 = sdy.constant dense<4.471500e-02> : tensor<f32>
    %77 = stablehlo.broadcast_in_dim %76, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %78 = stablehlo.multiply %77, %75 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %79 = stablehlo.add %73, %78 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %80 = sdy.constant dense<0.797884583> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %80, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %82 = stablehlo.multiply %81, %79 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %83 = stablehlo.tanh %82 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %84 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %85 = stablehlo.broadcast_in_dim %84, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %86 = stablehlo.add %85, %83 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %87 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %88 = stablehlo.broadcast_in_dim %87, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %89 = stablehlo.multiply %88, %86 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %90 = stablehlo.multiply %73, %89 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %91 = stablehlo.dot_general %90, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x64xf32>, tensor<64x16xf32>) -> tensor<4x8x16xf32>
    %92 = stablehlo.add %56, %91 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}, {}]>]>} : tensor<4x8x16xf32>
    %93 = sdy.sharding_constraint %92 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %94 = chlo.square %93 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %95 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %96 = stablehlo.reduce(%94 init: %95) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %97 = stablehlo.broadcast_in_dim %96, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %98 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %98, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %100 = stablehlo.divide %97, %99 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %101 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %102 = stablehlo.broadcast_in_dim %101, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %103 = stablehlo.add %100, %102 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %104 = stablehlo.rsqrt %103 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %105 = stablehlo.broadcast_in_dim %104, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %106 = stablehlo.multiply %93, %105 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %107 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %108 = stablehlo.broadcast_in_dim %107, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %109 = stablehlo.multiply %106, %108 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %110 = stablehlo.dot_general %109, %arg15, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %111 = stablehlo.dot_general %109, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %112 = stablehlo.dot_general %109, %arg16, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<16x4x4xf32>) -> tensor<4x8x4x4xf32>
    %113 = stablehlo.dot_general %110, %111, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %114 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %115 = stablehlo.broadcast_in_dim %114, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %116 = stablehlo.multiply %113, %115 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %117 = sdy.constant dense<true> : tensor<i1>
    %118 = stablehlo.broadcast_in_dim %117, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %119 = sdy.named_computation<"tril">(%118) (%arg21: tensor<8x8xi1>) {
      %206 = sdy.data_flow_edge %arg21 : tensor<8x8xi1>
      %207 = stablehlo.iota dim = 0 : tensor<8x8xi32>
      %208 = sdy.constant dense<0> : tensor<i32>
      %209 = stablehlo.broadcast_in_dim %208, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
      %210 = stablehlo.add %207, %209 : tensor<8x8xi32>
      %211 = stablehlo.iota dim = 1 : tensor<8x8xi32>
      %212 = stablehlo.compare GE, %210, %211, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
      %213 = sdy.constant dense<false> : tensor<i1>
      %214 = stablehlo.broadcast_in_dim %213, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
      %215 = stablehlo.select %212, %206, %214 : tensor<8x8xi1>, tensor<8x8xi1>
      sdy.return %215 : tensor<8x8xi1>
    } : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %120 = sdy.data_flow_edge %119 : tensor<8x8xi1>
    %121 = sdy.constant dense<-1.000000e+30> : tensor<f32>
    %122 = sdy.named_computation<"_where">(%120, %116, %121) (%arg21: tensor<8x8xi1>, %arg22: tensor<4x4x8x8xf32>, %arg23: tensor<f32>) {
      %206 = sdy.data_flow_edge %arg21 : tensor<8x8xi1>
      %207 = sdy.data_flow_edge %arg22 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
      %208 = sdy.data_flow_edge %arg23 : tensor<f32>
      %209 = stablehlo.convert %208 : tensor<f32>
      %210 = stablehlo.broadcast_in_dim %206, dims = [2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<8x8xi1>) -> tensor<4x4x8x8xi1>
      %211 = stablehlo.broadcast_in_dim %209, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8x8xf32>
      %212 = stablehlo.select %210, %207, %211 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
      sdy.return %212 : tensor<4x4x8x8xf32>
    } : (tensor<8x8xi1>, tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8x8xf32>
    %123 = sdy.data_flow_edge %122 sharding=<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]> : tensor<4x4x8x8xf32>
    %124 = sdy.constant dense<0xFF800000> : tensor<f32>
    %125 = stablehlo.reduce(%123 init: %124) applies stablehlo.maximum across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %126 = sdy.constant dense<0xFF800000> : tensor<f32>
    %127 = stablehlo.broadcast_in_dim %126, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<f32>) -> tensor<4x4x8xf32>
    %128 = stablehlo.maximum %127, %125 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : tensor<4x4x8xf32>
    %129 = stablehlo.broadcast_in_dim %128, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %130 = stablehlo.broadcast_in_dim %129, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %131 = stablehlo.subtract %123, %130 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %132 = stablehlo.exponential %131 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %133 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %134 = stablehlo.reduce(%132 init: %133) applies stablehlo.add across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}]>]>} : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %135 = stablehlo.broadcast_in_dim %134, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %136 = stablehlo.broadcast_in_dim %135, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %137 = stablehlo.divide %132, %136 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : tensor<4x4x8x8xf32>
    %138 = stablehlo.dot_general %112, %137, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %139 = stablehlo.transpose %138, dims = [0, 3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}, {?}]>]>} : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %140 = stablehlo.dot_general %139, %arg14, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x4x4xf32>, tensor<4x4x16xf32>) -> tensor<4x8x16xf32>
    %141 = stablehlo.add %93, %140 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %142 = chlo.square %141 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %143 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %144 = stablehlo.reduce(%142 init: %143) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %145 = stablehlo.broadcast_in_dim %144, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %146 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %147 = stablehlo.broadcast_in_dim %146, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %148 = stablehlo.divide %145, %147 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %149 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %150 = stablehlo.broadcast_in_dim %149, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %151 = stablehlo.add %148, %150 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %152 = stablehlo.rsqrt %151 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %153 = stablehlo.broadcast_in_dim %152, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %154 = stablehlo.multiply %141, %153 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %155 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %156 = stablehlo.broadcast_in_dim %155, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %157 = stablehlo.multiply %154, %156 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %158 = stablehlo.dot_general %157, %arg11, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x16xf32>, tensor<16x64xf32>) -> tensor<4x8x64xf32>
    %159 = stablehlo.multiply %158, %158 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %160 = stablehlo.multiply %159, %158 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %161 = sdy.constant dense<4.471500e-02> : tensor<f32>
    %162 = stablehlo.broadcast_in_dim %161, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %163 = stablehlo.multiply %162, %160 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %164 = stablehlo.add %158, %163 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %165 = sdy.constant dense<0.797884583> : tensor<f32>
    %166 = stablehlo.broadcast_in_dim %165, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %167 = stablehlo.multiply %166, %164 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %168 = stablehlo.tanh %167 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %169 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %170 = stablehlo.broadcast_in_dim %169, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %171 = stablehlo.add %170, %168 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %172 = sdy.constant dense<5.000000e-01> : tensor<f32>
    %173 = stablehlo.broadcast_in_dim %172, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<4x8x64xf32>
    %174 = stablehlo.multiply %173, %171 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %175 = stablehlo.multiply %158, %174 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x64xf32>
    %176 = stablehlo.dot_general %175, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x64xf32>, tensor<64x16xf32>) -> tensor<4x8x16xf32>
    %177 = stablehlo.add %141, %176 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}, {}]>]>} : tensor<4x8x16xf32>
    %178 = sdy.sharding_constraint %177 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %179 = chlo.square %178 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %180 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %181 = stablehlo.reduce(%179 init: %180) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %182 = stablehlo.broadcast_in_dim %181, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %183 = sdy.constant dense<1.600000e+01> : tensor<f32>
    %184 = stablehlo.broadcast_in_dim %183, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %185 = stablehlo.divide %182, %184 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %186 = sdy.constant dense<9.99999997E-7> : tensor<f32>
    %187 = stablehlo.broadcast_in_dim %186, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
    %188 = stablehlo.add %185, %187 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %189 = stablehlo.rsqrt %188 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
    %190 = stablehlo.broadcast_in_dim %189, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %191 = stablehlo.multiply %178, %190 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %192 = stablehlo.broadcast_in_dim %arg17, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %193 = stablehlo.broadcast_in_dim %192, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %194 = stablehlo.multiply %191, %193 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x16xf32>
    %195 = stablehlo.dot_general %194, %arg18, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    %196 = sdy.named_computation<"log_softmax">(%195) (%arg21: tensor<4x8x32xf32>) {
      %206 = sdy.data_flow_edge %arg21 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
      %207 = sdy.constant dense<0xFF800000> : tensor<f32>
      %208 = stablehlo.reduce(%206 init: %207) applies stablehlo.maximum across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
      %209 = sdy.constant dense<0xFF800000> : tensor<f32>
      %210 = stablehlo.broadcast_in_dim %209, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8xf32>
      %211 = stablehlo.maximum %210, %208 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : tensor<4x8xf32>
      %212 = stablehlo.broadcast_in_dim %211, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
      %213 = stablehlo.broadcast_in_dim %212, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
      %214 = stablehlo.subtract %206, %213 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x32xf32>
      %215 = stablehlo.exponential %214 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x32xf32>
      %216 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %217 = stablehlo.reduce(%215 init: %216) applies stablehlo.add across dimensions = [2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}]>]>} : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
      %218 = stablehlo.broadcast_in_dim %217, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
      %219 = stablehlo.log %218 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xf32>
      %220 = stablehlo.broadcast_in_dim %219, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : (tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
      %221 = stablehlo.subtract %214, %220 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {"model", ?}]>]>} : tensor<4x8x32xf32>
      sdy.return %221 : tensor<4x8x32xf32>
    } : (tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    %197 = sdy.data_flow_edge %196 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
    %198 = stablehlo.broadcast_in_dim %arg20, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8xi32>) -> tensor<4x8x1xi32>
    %199 = sdy.named_computation<"take_along_axis">(%197, %198) (%arg21: tensor<4x8x32xf32>, %arg22: tensor<4x8x1xi32>) {
      %206 = sdy.data_flow_edge %arg21 sharding=<@mesh, [{"data", ?}, {?}, {"model", ?}]> : tensor<4x8x32xf32>
      %207 = sdy.data_flow_edge %arg22 sharding=<@mesh, [{"data", ?}, {?}, {?}]> : tensor<4x8x1xi32>
      %208 = sdy.constant dense<0> : tensor<i32>
      %209 = stablehlo.broadcast_in_dim %208, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<i32>) -> tensor<4x8x1xi32>
      %210 = stablehlo.compare LT, %207, %209, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1xi32>, tensor<4x8x1xi32>) -> tensor<4x8x1xi1>
      %211 = sdy.constant dense<32> : tensor<i32>
      %212 = stablehlo.broadcast_in_dim %211, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<i32>) -> tensor<4x8x1xi32>
      %213 = stablehlo.add %207, %212 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xi32>
      %214 = stablehlo.select %210, %213, %207 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xi1>, tensor<4x8x1xi32>
      %215 = stablehlo.reshape %214 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : (tensor<4x8x1xi32>) -> tensor<4x8x1x1xi32>
      %216 = sdy.constant dense<31> : tensor<1xi32>
      %217 = sdy.constant dense<0> : tensor<i32>
      %218 = stablehlo.broadcast_in_dim %217, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : (tensor<i32>) -> tensor<4x8x1x1xi32>
      %219 = stablehlo.compare GE, %215, %218, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : (tensor<4x8x1x1xi32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1x1xi1>
      %220 = stablehlo.broadcast_in_dim %216, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
      %221 = stablehlo.broadcast_in_dim %220, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : (tensor<1x1x1x1xi32>) -> tensor<4x8x1x1xi32>
      %222 = stablehlo.compare LE, %215, %221, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : (tensor<4x8x1x1xi32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1x1xi1>
      %223 = stablehlo.and %219, %222 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}, {?}]>]>} : tensor<4x8x1x1xi1>
      %224 = sdy.constant dense<true> : tensor<i1>
      %225 = stablehlo.reduce(%223 init: %224) applies stablehlo.and across dimensions = [3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x1x1xi1>, tensor<i1>) -> tensor<4x8x1xi1>
      %226 = "stablehlo.gather"(%206, %215) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<4x8x32xf32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1xf32>
      %227 = sdy.constant dense<0x7FC00000> : tensor<f32>
      %228 = stablehlo.broadcast_in_dim %227, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<4x8x1xf32>
      %229 = stablehlo.select %225, %226, %228 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {?}, {?}]>]>} : tensor<4x8x1xi1>, tensor<4x8x1xf32>
      sdy.return %229 : tensor<4x8x1xf32>
    } : (tensor<4x8x32xf32>, tensor<4x8x1xi32>) -> tensor<4x8x1xf32>
    %200 = sdy.data_flow_edge %199 sharding=<@mesh, [{"data", ?}, {?}, {?}]> : tensor<4x8x1xf32>
    %201 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %202 = stablehlo.reduce(%200 init: %201) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<f32>
    %203 = sdy.constant dense<3.200000e+01> : tensor<f32>
    %204 = stablehlo.divide %202, %203 : tensor<f32>
    %205 = stablehlo.negate %204 : tensor<f32>
    return %205, %195 : tensor<f32>, tensor<4x8x32xf32>
  }
}
