module @jit_split_matrices attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x4x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) {
    %0 = call @cholesky(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    return %0 : tensor<8x4x4xf32>
  }
  func.func private @cholesky(%arg0: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) {
    %0 = stablehlo.transpose %arg0, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %1 = stablehlo.add %arg0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x4x4xf32>
    %2 = sdy.constant dense<2.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
    %4 = stablehlo.divide %1, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x4x4xf32>
    %5:2 = stablehlo.custom_call @lapack_spotrf_ffi(%4) {backend_config = "", mhlo.backend_config = {uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>, <@mesh, [{"X"}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i]) {i=8, j=4, k=4, l=4, m=4}, custom>} : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8xi32>)
    %6 = sdy.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<i32>) -> tensor<8xi32>
    %8 = stablehlo.compare EQ, %5#1, %7, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
    %10 = sdy.constant dense<0x7FC00000> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
    %12 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
    %13 = stablehlo.select %12, %5#0, %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
    %14 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %15 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %16 = stablehlo.add %14, %15 : tensor<4x4xi32>
    %17 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %18 = stablehlo.compare GE, %16, %17, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %19 = stablehlo.broadcast_in_dim %18, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<4x4xi1>) -> tensor<8x4x4xi1>
    %20 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
    %22 = stablehlo.select %19, %13, %21 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {}, {}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
    return %22 : tensor<8x4x4xf32>
  }
}
