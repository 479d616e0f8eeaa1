module @jit_eigh_c128 attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x5x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x5xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}]>}, tensor<8x5x5xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}, tensor<8x5x5xf32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}) {
    %0:2 = sdy.named_computation<"eigh">(%arg0) (%arg1: tensor<8x5x5xf32>) {
      %10 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x5x5xf32>
      %11 = stablehlo.transpose %10, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x5x5xf32>) -> tensor<8x5x5xf32>
      %12 = stablehlo.add %10, %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x5x5xf32>
      %13 = sdy.constant dense<2.000000e+00> : tensor<f32>
      %14 = stablehlo.broadcast_in_dim %13, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x5x5xf32>
      %15 = stablehlo.divide %12, %14 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x5x5xf32>
      %16:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%15) {backend_config = "", mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}, {?}]>, <@mesh, [{"X", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i]) {i=8, j=5, k=5, l=5, m=5, n=5}, custom>} : (tensor<8x5x5xf32>) -> (tensor<8x5x5xf32>, tensor<8x5xf32>, tensor<8xi32>)
      %17 = sdy.constant dense<0> : tensor<i32>
      %18 = stablehlo.broadcast_in_dim %17, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
      %19 = stablehlo.compare EQ, %16#2, %18, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
      %20 = stablehlo.broadcast_in_dim %19, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
      %21 = sdy.constant dense<0x7FC00000> : tensor<f32>
      %22 = stablehlo.broadcast_in_dim %21, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x5x5xf32>
      %23 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x5x5xi1>
      %24 = stablehlo.select %23, %16#0, %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x5x5xi1>, tensor<8x5x5xf32>
      %25 = stablehlo.broadcast_in_dim %19, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1xi1>
      %26 = sdy.constant dense<0x7FC00000> : tensor<f32>
      %27 = stablehlo.broadcast_in_dim %26, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<f32>) -> tensor<8x5xf32>
      %28 = stablehlo.broadcast_in_dim %25, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x1xi1>) -> tensor<8x5xi1>
      %29 = stablehlo.select %28, %16#1, %27 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x5xi1>, tensor<8x5xf32>
      sdy.return %29, %24 : tensor<8x5xf32>, tensor<8x5x5xf32>
    } : (tensor<8x5x5xf32>) -> (tensor<8x5xf32>, tensor<8x5x5xf32>)
    %1 = sdy.data_flow_edge %0#0 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x5xf32>
    %2 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x5x5xf32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x5xf32>) -> tensor<8x1x5xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x5xf32>) -> tensor<8x5x5xf32>
    %5 = stablehlo.multiply %2, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x5x5xf32>
    %6 = stablehlo.transpose %2, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x5x5xf32>) -> tensor<8x5x5xf32>
    %7 = stablehlo.dot_general %5, %6, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x5x5xf32>, tensor<8x5x5xf32>) -> tensor<8x5x5xf32>
    %8 = stablehlo.transpose %2, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x5x5xf32>) -> tensor<8x5x5xf32>
    %9 = stablehlo.dot_general %8, %2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x5x5xf32>, tensor<8x5x5xf32>) -> tensor<8x5x5xf32>
    return %1, %7, %9 : tensor<8x5xf32>, tensor<8x5x5xf32>, tensor<8x5x5xf32>
  }
}
