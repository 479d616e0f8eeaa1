module @jit_qr_c64 attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x5x3xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x5x3xcomplex<f32>> {jax.result_info = "result.Q", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}, tensor<8x3x3xcomplex<f32>> {jax.result_info = "result.R", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}) {
    %0:2 = sdy.named_computation<"qr">(%arg0) (%arg1: tensor<8x5x3xcomplex<f32>>) {
      %3 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x5x3xcomplex<f32>>
      %4:2 = stablehlo.custom_call @lapack_cgeqrf_ffi(%3) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n]) {i=8, j=5, k=3, l=5, m=3, n=3}, custom>} : (tensor<8x5x3xcomplex<f32>>) -> (tensor<8x5x3xcomplex<f32>>, tensor<8x3xcomplex<f32>>)
      %5 = stablehlo.custom_call @lapack_cungqr_ffi(%4#0, %4#1) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, l])->([i, m, n]) {i=8, j=5, k=3, l=3, m=5, n=3}, custom>} : (tensor<8x5x3xcomplex<f32>>, tensor<8x3xcomplex<f32>>) -> tensor<8x5x3xcomplex<f32>>
      %6 = stablehlo.slice %4#0 [0:8, 0:3, 0:3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x5x3xcomplex<f32>>) -> tensor<8x3x3xcomplex<f32>>
      %7 = stablehlo.iota dim = 0 : tensor<3x3xi32>
      %8 = sdy.constant dense<-1> : tensor<i32>
      %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i32>) -> tensor<3x3xi32>
      %10 = stablehlo.add %7, %9 : tensor<3x3xi32>
      %11 = stablehlo.iota dim = 1 : tensor<3x3xi32>
      %12 = stablehlo.compare GE, %10, %11, SIGNED : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
      %13 = stablehlo.broadcast_in_dim %12, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<3x3xi1>) -> tensor<8x3x3xi1>
      %14 = sdy.constant dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>
      %15 = stablehlo.broadcast_in_dim %14, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<complex<f32>>) -> tensor<8x3x3xcomplex<f32>>
      %16 = stablehlo.select %13, %15, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x3x3xi1>, tensor<8x3x3xcomplex<f32>>
      sdy.return %5, %16 : tensor<8x5x3xcomplex<f32>>, tensor<8x3x3xcomplex<f32>>
    } : (tensor<8x5x3xcomplex<f32>>) -> (tensor<8x5x3xcomplex<f32>>, tensor<8x3x3xcomplex<f32>>)
    %1 = sdy.data_flow_edge %0#0 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x5x3xcomplex<f32>>
    %2 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x3x3xcomplex<f32>>
    return %1, %2 : tensor<8x5x3xcomplex<f32>>, tensor<8x3x3xcomplex<f32>>
  }
}
