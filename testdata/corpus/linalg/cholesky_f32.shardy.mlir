module @jit_split_matrices attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x4x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}) {
    %0 = sdy.named_computation<"cholesky">(%arg0) (%arg1: tensor<8x4x4xf32>) {
      %2 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      %3 = stablehlo.transpose %2, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
      %4 = stablehlo.add %2, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xf32>
      %5 = sdy.constant dense<2.000000e+00> : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
      %7 = stablehlo.divide %4, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xf32>
      %8:2 = stablehlo.custom_call @lapack_spotrf_ffi(%7) {backend_config = "", mhlo.backend_config = {uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i]) {i=8, j=4, k=4, l=4, m=4}, custom>} : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8xi32>)
      %9 = sdy.constant dense<0> : tensor<i32>
      %10 = stablehlo.broadcast_in_dim %9, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
      %11 = stablehlo.compare EQ, %8#1, %10, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
      %12 = stablehlo.broadcast_in_dim %11, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
      %13 = sdy.constant dense<0x7FC00000> : tensor<f32>
      %14 = stablehlo.broadcast_in_dim %13, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
      %15 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
      %16 = stablehlo.select %15, %8#0, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
      %17 = stablehlo.iota dim = 0 : tensor<4x4xi32>
      %18 = sdy.constant dense<0> : tensor<i32>
      %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
      %20 = stablehlo.add %17, %19 : tensor<4x4xi32>
      %21 = stablehlo.iota dim = 1 : tensor<4x4xi32>
      %22 = stablehlo.compare GE, %20, %21, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
      %23 = stablehlo.broadcast_in_dim %22, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<4x4xi1>) -> tensor<8x4x4xi1>
      %24 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %25 = stablehlo.broadcast_in_dim %24, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
      %26 = stablehlo.select %23, %16, %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
      sdy.return %26 : tensor<8x4x4xf32>
    } : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
    return %1 : tensor<8x4x4xf32>
  }
}
