module @jit_eig_c128 attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8xcomplex<f32>> {jax.result_info = "result[0]"}, tensor<8xcomplex<f32>> {jax.result_info = "result[1]"}, tensor<8x4x4xcomplex<f32>> {jax.result_info = "result[2]"}, tensor<8x4xf32> {jax.result_info = "result[3]"}) {
    %0:5 = stablehlo.custom_call @lapack_sgeev_ffi(%arg0) {backend_config = "", mhlo.backend_config = {compute_left = 78 : ui8, compute_right = 86 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l], [i, m], [i, n, o], [i, p, q], [i]) {i=8, j=4, k=4, l=4, m=4, n=4, o=4, p=4, q=4}, custom>} : (tensor<8x4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4x4xcomplex<f32>>, tensor<8x4x4xcomplex<f32>>, tensor<8xi32>)
    %1 = stablehlo.complex %0#0, %0#1 : tensor<8x4xcomplex<f32>>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %3 = stablehlo.compare EQ, %0#4, %2, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<8xi1>) -> tensor<8x1xi1>
    %cst = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<8x4xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<8x1xi1>) -> tensor<8x4xi1>
    %7 = stablehlo.select %6, %1, %5 : tensor<8x4xi1>, tensor<8x4xcomplex<f32>>
    %8 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %cst_0 = stablehlo.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f32>>) -> tensor<8x4x4xcomplex<f32>>
    %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
    %11 = stablehlo.select %10, %0#3, %9 : tensor<8x4x4xi1>, tensor<8x4x4xcomplex<f32>>
    %cst_1 = stablehlo.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %12 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<8x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8xcomplex<f32>>
    %cst_2 = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %13 = stablehlo.reduce(%7 init: %cst_2) applies stablehlo.multiply across dimensions = [1] : (tensor<8x4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<8xcomplex<f32>>
    %14 = stablehlo.convert %arg0 : (tensor<8x4x4xf32>) -> tensor<8x4x4xcomplex<f32>>
    %15 = stablehlo.dot_general %14, %11, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x4x4xcomplex<f32>>, tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xcomplex<f32>>
    %16 = stablehlo.broadcast_in_dim %7, dims = [0, 2] : (tensor<8x4xcomplex<f32>>) -> tensor<8x1x4xcomplex<f32>>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<8x1x4xcomplex<f32>>) -> tensor<8x4x4xcomplex<f32>>
    %18 = stablehlo.multiply %11, %17 : tensor<8x4x4xcomplex<f32>>
    %19 = stablehlo.subtract %15, %18 : tensor<8x4x4xcomplex<f32>>
    %20 = call @norm(%11) : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4xf32>
    return %12, %13, %19, %20 : tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>, tensor<8x4x4xcomplex<f32>>, tensor<8x4xf32>
  }
  func.func private @norm(%arg0: tensor<8x4x4xcomplex<f32>>) -> tensor<8x4xf32> {
    %0 = stablehlo.real %arg0 : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xf32>
    %1 = stablehlo.imag %arg0 : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xf32>
    %2 = stablehlo.negate %1 : tensor<8x4x4xf32>
    %3 = stablehlo.complex %0, %2 : tensor<8x4x4xcomplex<f32>>
    %4 = stablehlo.multiply %arg0, %3 : tensor<8x4x4xcomplex<f32>>
    %5 = stablehlo.real %4 : (tensor<8x4x4xcomplex<f32>>) -> tensor<8x4x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x4x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %7 = stablehlo.sqrt %6 : tensor<8x4xf32>
    return %7 : tensor<8x4xf32>
  }
}
