module @jit_svd_thin_c64 attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x3x7xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x3xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}]>}, tensor<8x3x7xcomplex<f32>> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}, tensor<8x3x3xcomplex<f32>> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}, tensor<8x3x3xcomplex<f32>> {jax.result_info = "result[3]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}) {
    %0:3 = sdy.named_computation<"svd">(%arg0) (%arg1: tensor<8x3x7xcomplex<f32>>) {
      %21 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x3x7xcomplex<f32>>
      %22:5 = stablehlo.custom_call @lapack_cgesdd_ffi(%21) {backend_config = "", mhlo.backend_config = {mode = 83 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}, {?}]>, <@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i, o, p], [i, q, r], [i]) {i=8, j=3, k=7, l=3, m=7, n=3, o=3, p=3, q=3, r=7}, custom>} : (tensor<8x3x7xcomplex<f32>>) -> (tensor<8x3x7xcomplex<f32>>, tensor<8x3xf32>, tensor<8x3x3xcomplex<f32>>, tensor<8x3x7xcomplex<f32>>, tensor<8xi32>)
      %23 = sdy.constant dense<0> : tensor<i32>
      %24 = stablehlo.broadcast_in_dim %23, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
      %25 = stablehlo.compare EQ, %22#4, %24, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
      %26 = stablehlo.broadcast_in_dim %25, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1xi1>
      %27 = sdy.constant dense<0x7FC00000> : tensor<f32>
      %28 = stablehlo.broadcast_in_dim %27, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<f32>) -> tensor<8x3xf32>
      %29 = stablehlo.broadcast_in_dim %26, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x1xi1>) -> tensor<8x3xi1>
      %30 = stablehlo.select %29, %22#1, %28 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x3xi1>, tensor<8x3xf32>
      %31 = stablehlo.broadcast_in_dim %25, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
      %32 = sdy.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
      %33 = stablehlo.broadcast_in_dim %32, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<complex<f32>>) -> tensor<8x3x3xcomplex<f32>>
      %34 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x3x3xi1>
      %35 = stablehlo.select %34, %22#2, %33 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x3x3xi1>, tensor<8x3x3xcomplex<f32>>
      %36 = stablehlo.broadcast_in_dim %25, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
      %37 = sdy.constant dense<(0x7FC00000,0x7FC00000)> : tensor<complex<f32>>
      %38 = stablehlo.broadcast_in_dim %37, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<complex<f32>>) -> tensor<8x3x7xcomplex<f32>>
      %39 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x3x7xi1>
      %40 = stablehlo.select %39, %22#3, %38 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x3x7xi1>, tensor<8x3x7xcomplex<f32>>
      sdy.return %35, %30, %40 : tensor<8x3x3xcomplex<f32>>, tensor<8x3xf32>, tensor<8x3x7xcomplex<f32>>
    } : (tensor<8x3x7xcomplex<f32>>) -> (tensor<8x3x3xcomplex<f32>>, tensor<8x3xf32>, tensor<8x3x7xcomplex<f32>>)
    %1 = sdy.data_flow_edge %0#0 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x3x3xcomplex<f32>>
    %2 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x3xf32>
    %3 = sdy.data_flow_edge %0#2 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x3x7xcomplex<f32>>
    %4 = stablehlo.broadcast_in_dim %2, dims = [0, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x3xf32>) -> tensor<8x1x3xf32>
    %5 = stablehlo.convert %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x3xf32>) -> tensor<8x1x3xcomplex<f32>>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x3xcomplex<f32>>) -> tensor<8x3x3xcomplex<f32>>
    %7 = stablehlo.multiply %1, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x3x3xcomplex<f32>>
    %8 = stablehlo.dot_general %7, %3, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x3x3xcomplex<f32>>, tensor<8x3x7xcomplex<f32>>) -> tensor<8x3x7xcomplex<f32>>
    %9 = stablehlo.transpose %1, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x3x3xcomplex<f32>>) -> tensor<8x3x3xcomplex<f32>>
    %10 = stablehlo.real %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x3x3xcomplex<f32>>) -> tensor<8x3x3xf32>
    %11 = stablehlo.imag %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x3x3xcomplex<f32>>) -> tensor<8x3x3xf32>
    %12 = stablehlo.negate %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x3x3xf32>
    %13 = stablehlo.complex %10, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x3x3xcomplex<f32>>
    %14 = stablehlo.dot_general %13, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x3x3xcomplex<f32>>, tensor<8x3x3xcomplex<f32>>) -> tensor<8x3x3xcomplex<f32>>
    %15 = stablehlo.transpose %3, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x3x7xcomplex<f32>>) -> tensor<8x7x3xcomplex<f32>>
    %16 = stablehlo.real %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x7x3xcomplex<f32>>) -> tensor<8x7x3xf32>
    %17 = stablehlo.imag %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x7x3xcomplex<f32>>) -> tensor<8x7x3xf32>
    %18 = stablehlo.negate %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x7x3xf32>
    %19 = stablehlo.complex %16, %18 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x7x3xcomplex<f32>>
    %20 = stablehlo.dot_general %3, %19, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x3x7xcomplex<f32>>, tensor<8x7x3xcomplex<f32>>) -> tensor<8x3x3xcomplex<f32>>
    return %2, %8, %14, %20 : tensor<8x3xf32>, tensor<8x3x7xcomplex<f32>>, tensor<8x3x3xcomplex<f32>>, tensor<8x3x3xcomplex<f32>>
  }
}
