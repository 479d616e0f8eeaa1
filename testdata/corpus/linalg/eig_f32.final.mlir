module @jit_eig_c128 attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8xcomplex<f32>> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}]>}, tensor<8xcomplex<f32>> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}]>}, tensor<8x4x4xcomplex<f32>> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}, tensor<8x4xf32> {jax.result_info = "result[3]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) {
    %0:5 = stablehlo.custom_call @lapack_sgeev_ffi(%arg0) {backend_config = "", mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>, <@mesh, [{"X"}, {}]>, <@mesh, [{"X"}, {}, {}]>, <@mesh, [{"X"}, {}, {}]>, <@mesh, [{"X"}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l], [i, m], [i, n, o], [i, p, q], [i]) {i=8, j=4, k=4, l=4, m=4, n=4, o=4, p=4, q=4}, custom>} : (tensor<8x4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4x4xcomplex<f32>>, tensor<8x4x4xcomplex<f32>>, tensor<8xi32>)
    %1 = stablehlo.complex %0#0, %0#1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x4xcomplex<f32>>
    %2 = sdy.constant dense<0> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<i32>) -> tensor<8xi32>
    %4 = stablehlo.compare EQ, %0#4, %3, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8xi1>) -> tensor<8x1xi1>
    %6 = sdy.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<complex<f32>>) -> tensor<8x4xcomplex<f32>>
    %8 = stablehlo.broadcast_in_dim %5, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8x1xi1>) -> tensor<8x4xi1>
    %9 = stablehlo.select %8, %1, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x4xi1>, tensor<8x4xcomplex<f32>>
    %10 = stablehlo.broadcast_in_dim %4, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %11 = stablehlo.broadcast_in_dim %6, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<complex<f32>>) -> tensor<8x4x4xcomplex<f32>>
    %12 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
    %13 = stablehlo.select %12, %0#3, %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xcomplex<f32>>
    %14 = sdy.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %15 = stablehlo.reduce(%9 init: %14) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<8x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8xcomplex<f32>>
    %16 = sdy.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %17 = stablehlo.reduce(%9 init: %16) applies stablehlo.multiply across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<8x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8xcomplex<f32>>
    %18 = stablehlo.convert %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xcomplex<f32>>
    %19 = stablehlo.dot_general %18, %13, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x4x4xcomplex<f32>>, tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xcomplex<f32>>
    %20 = stablehlo.broadcast_in_dim %9, dims = [0, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x4xcomplex<f32>>) -> tensor<8x1x4xcomplex<f32>>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x1x4xcomplex<f32>>) -> tensor<8x4x4xcomplex<f32>>
    %22 = stablehlo.multiply %13, %21 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x4x4xcomplex<f32>>
    %23 = stablehlo.subtract %19, %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x4x4xcomplex<f32>>
    %24 = call @norm(%13) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4xf32>
    return %15, %17, %23, %24 : tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>, tensor<8x4x4xcomplex<f32>>, tensor<8x4xf32>
  }
  func.func private @norm(%arg0: tensor<8x4x4xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) {
    %0 = stablehlo.real %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xf32>
    %1 = stablehlo.imag %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xf32>
    %2 = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x4x4xf32>
    %3 = stablehlo.complex %0, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x4x4xcomplex<f32>>
    %4 = stablehlo.multiply %arg0, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x4x4xcomplex<f32>>
    %5 = stablehlo.real %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xf32>
    %6 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8x4x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %8 = stablehlo.sqrt %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x4xf32>
    return %8 : tensor<8x4xf32>
  }
}
