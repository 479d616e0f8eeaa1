module @jit_svd_thin_c64 attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x3x7xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x3xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}, tensor<8x3x7xcomplex<f32>> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}, tensor<8x3x3xcomplex<f32>> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}, tensor<8x3x3xcomplex<f32>> {jax.result_info = "result[3]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) {
    %0:3 = call @svd(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>, <@mesh, [{"X"}, {}]>, <@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x3x7xcomplex<f32>>) -> (tensor<8x3x3xcomplex<f32>>, tensor<8x3xf32>, tensor<8x3x7xcomplex<f32>>)
    %1 = stablehlo.broadcast_in_dim %0#1, dims = [0, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x3xf32>) -> tensor<8x1x3xf32>
    %2 = stablehlo.convert %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x1x3xf32>) -> tensor<8x1x3xcomplex<f32>>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x1x3xcomplex<f32>>) -> tensor<8x3x3xcomplex<f32>>
    %4 = stablehlo.multiply %0#0, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x3x3xcomplex<f32>>
    %5 = stablehlo.dot_general %4, %0#2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x3x3xcomplex<f32>>, tensor<8x3x7xcomplex<f32>>) -> tensor<8x3x7xcomplex<f32>>
    %6 = stablehlo.transpose %0#0, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x3x3xcomplex<f32>>) -> tensor<8x3x3xcomplex<f32>>
    %7 = stablehlo.real %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x3x3xcomplex<f32>>) -> tensor<8x3x3xf32>
    %8 = stablehlo.imag %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x3x3xcomplex<f32>>) -> tensor<8x3x3xf32>
    %9 = stablehlo.negate %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x3x3xf32>
    %10 = stablehlo.complex %7, %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x3x3xcomplex<f32>>
    %11 = stablehlo.dot_general %10, %0#0, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x3x3xcomplex<f32>>, tensor<8x3x3xcomplex<f32>>) -> tensor<8x3x3xcomplex<f32>>
    %12 = stablehlo.transpose %0#2, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x3x7xcomplex<f32>>) -> tensor<8x7x3xcomplex<f32>>
    %13 = stablehlo.real %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x7x3xcomplex<f32>>) -> tensor<8x7x3xf32>
    %14 = stablehlo.imag %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x7x3xcomplex<f32>>) -> tensor<8x7x3xf32>
    %15 = stablehlo.negate %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x7x3xf32>
    %16 = stablehlo.complex %13, %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x7x3xcomplex<f32>>
    %17 = stablehlo.dot_general %0#2, %16, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x3x7xcomplex<f32>>, tensor<8x7x3xcomplex<f32>>) -> tensor<8x3x3xcomplex<f32>>
    return %0#1, %5, %11, %17 : tensor<8x3xf32>, tensor<8x3x7xcomplex<f32>>, tensor<8x3x3xcomplex<f32>>, tensor<8x3x3xcomplex<f32>>
  }
  func.func private @svd(%arg0: tensor<8x3x7xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x3x3xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}, tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}, tensor<8x3x7xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) {
    %0:5 = stablehlo.custom_call @lapack_cgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 83 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>, <@mesh, [{"X"}, {}]>, <@mesh, [{"X"}, {}, {}]>, <@mesh, [{"X"}, {}, {}]>, <@mesh, [{"X"}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i, o, p], [i, q, r], [i]) {i=8, j=3, k=7, l=3, m=7, n=3, o=3, p=3, q=3, r=7}, custom>} : (tensor<8x3x7xcomplex<f32>>) -> (tensor<8x3x7xcomplex<f32>>, tensor<8x3xf32>, tensor<8x3x3xcomplex<f32>>, tensor<8x3x7xcomplex<f32>>, tensor<8xi32>)
    %1 = sdy.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<i32>) -> tensor<8xi32>
    %3 = stablehlo.compare EQ, %0#4, %2, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8xi1>) -> tensor<8x1xi1>
    %5 = sdy.constant dense<0x7FC00000> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<f32>) -> tensor<8x3xf32>
    %7 = stablehlo.broadcast_in_dim %4, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : (tensor<8x1xi1>) -> tensor<8x3xi1>
    %8 = stablehlo.select %7, %0#1, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}]>]>} : tensor<8x3xi1>, tensor<8x3xf32>
    %9 = stablehlo.broadcast_in_dim %3, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %10 = sdy.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<complex<f32>>) -> tensor<8x3x3xcomplex<f32>>
    %12 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x3x3xi1>
    %13 = stablehlo.select %12, %0#2, %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x3x3xi1>, tensor<8x3x3xcomplex<f32>>
    %14 = stablehlo.broadcast_in_dim %3, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %15 = stablehlo.broadcast_in_dim %10, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<complex<f32>>) -> tensor<8x3x7xcomplex<f32>>
    %16 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x3x7xi1>
    %17 = stablehlo.select %16, %0#3, %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x3x7xi1>, tensor<8x3x7xcomplex<f32>>
    return %13, %8, %17 : tensor<8x3x3xcomplex<f32>>, tensor<8x3xf32>, tensor<8x3x7xcomplex<f32>>
  }
}
