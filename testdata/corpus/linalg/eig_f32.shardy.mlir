module @jit_eig_c128 attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8xcomplex<f32>> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}]>}, tensor<8xcomplex<f32>> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}]>}, tensor<8x4x4xcomplex<f32>> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}, tensor<8x4xf32> {jax.result_info = "result[3]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}]>}) {
    %0:5 = stablehlo.custom_call @lapack_sgeev_ffi(%arg0) {backend_config = "", mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>, <@mesh, [{"X", ?}, {?}]>, <@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l], [i, m], [i, n, o], [i, p, q], [i]) {i=8, j=4, k=4, l=4, m=4, n=4, o=4, p=4, q=4}, custom>} : (tensor<8x4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4x4xcomplex<f32>>, tensor<8x4x4xcomplex<f32>>, tensor<8xi32>)
    %1 = stablehlo.complex %0#0, %0#1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xcomplex<f32>>
    %2 = sdy.constant dense<0> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
    %4 = stablehlo.compare EQ, %0#4, %3, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1xi1>
    %6 = sdy.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<complex<f32>>) -> tensor<8x4xcomplex<f32>>
    %8 = stablehlo.broadcast_in_dim %5, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x1xi1>) -> tensor<8x4xi1>
    %9 = stablehlo.select %8, %1, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi1>, tensor<8x4xcomplex<f32>>
    %10 = stablehlo.broadcast_in_dim %4, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %11 = sdy.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %12 = stablehlo.broadcast_in_dim %11, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<complex<f32>>) -> tensor<8x4x4xcomplex<f32>>
    %13 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
    %14 = stablehlo.select %13, %0#3, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xcomplex<f32>>
    %15 = sdy.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %16 = stablehlo.reduce(%9 init: %15) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8xcomplex<f32>>
    %17 = sdy.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %18 = stablehlo.reduce(%9 init: %17) applies stablehlo.multiply across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8xcomplex<f32>>
    %19 = stablehlo.convert %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xcomplex<f32>>
    %20 = stablehlo.dot_general %19, %14, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xcomplex<f32>>, tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xcomplex<f32>>
    %21 = stablehlo.broadcast_in_dim %9, dims = [0, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4xcomplex<f32>>) -> tensor<8x1x4xcomplex<f32>>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x4xcomplex<f32>>) -> tensor<8x4x4xcomplex<f32>>
    %23 = stablehlo.multiply %14, %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xcomplex<f32>>
    %24 = stablehlo.subtract %20, %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xcomplex<f32>>
    %25 = sdy.named_computation<"norm">(%14) (%arg1: tensor<8x4x4xcomplex<f32>>) {
      %27 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xcomplex<f32>>
      %28 = stablehlo.real %27 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xf32>
      %29 = stablehlo.imag %27 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xf32>
      %30 = stablehlo.negate %29 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xf32>
      %31 = stablehlo.complex %28, %30 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xcomplex<f32>>
      %32 = stablehlo.multiply %27, %31 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xcomplex<f32>>
      %33 = stablehlo.real %32 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xf32>
      %34 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %35 = stablehlo.reduce(%33 init: %34) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4x4xf32>, tensor<f32>) -> tensor<8x4xf32>
      %36 = stablehlo.sqrt %35 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xf32>
      sdy.return %36 : tensor<8x4xf32>
    } : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4xf32>
    %26 = sdy.data_flow_edge %25 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xf32>
    return %16, %18, %24, %26 : tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>, tensor<8x4x4xcomplex<f32>>, tensor<8x4xf32>
  }
}
