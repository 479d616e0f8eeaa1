module @jit_inv_det attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x4x4xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}, tensor<8xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}]>}, tensor<8xf32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}]>}, tensor<8xf32> {jax.result_info = "result[3]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}]>}) {
    %0 = sdy.named_computation<"inv">(%arg0) (%arg1: tensor<8x4x4xf32>) {
      %7 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      %8 = stablehlo.iota dim = 0 : tensor<4x4xi32>
      %9 = stablehlo.iota dim = 1 : tensor<4x4xi32>
      %10 = sdy.constant dense<0> : tensor<i32>
      %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
      %12 = stablehlo.add %8, %11 : tensor<4x4xi32>
      %13 = stablehlo.compare EQ, %12, %9, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
      %14 = stablehlo.convert %13 : (tensor<4x4xi1>) -> tensor<4x4xf32>
      %15 = stablehlo.broadcast_in_dim %14, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<4x4xf32>) -> tensor<8x4x4xf32>
      %16 = sdy.named_computation<"solve">(%7, %15) (%arg2: tensor<8x4x4xf32>, %arg3: tensor<8x4x4xf32>) {
        %18 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %19 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %20:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%18) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}, {?}]>, <@mesh, [{"X", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i]) {i=8, j=4, k=4, l=4, m=4, n=4}, custom>} : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8xi32>)
        %21 = sdy.constant dense<1> : tensor<i32>
        %22 = stablehlo.broadcast_in_dim %21, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
        %23 = stablehlo.subtract %20#1, %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
        %24 = sdy.constant dense<0> : tensor<i32>
        %25 = stablehlo.broadcast_in_dim %24, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %26 = stablehlo.compare GE, %20#2, %25, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
        %27 = stablehlo.broadcast_in_dim %26, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
        %28 = sdy.constant dense<0x7FC00000> : tensor<f32>
        %29 = stablehlo.broadcast_in_dim %28, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
        %30 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
        %31 = stablehlo.select %30, %20#0, %29 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
        %32 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
        %33 = sdy.constant dense<0> : tensor<i32>
        %34 = sdy.constant dense<0> : tensor<i32>
        %35:4 = stablehlo.while(%iterArg = %23, %iterArg_0 = %34, %iterArg_1 = %33, %iterArg_2 = %32) : tensor<8x4xi32>, tensor<i32>, tensor<i32>, tensor<8x4xi32>
        cond {
          %44 = sdy.constant dense<4> : tensor<i32>
          %45 = stablehlo.compare LT, %iterArg_0, %44, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %45 : tensor<i1>
        } do {
          %44:2 = sdy.named_computation<"closed_call">(%iterArg, %iterArg_1, %iterArg_2) (%arg4: tensor<8x4xi32>, %arg5: tensor<i32>, %arg6: tensor<8x4xi32>) {
            %49 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
            %50 = sdy.data_flow_edge %arg5 : tensor<i32>
            %51 = sdy.data_flow_edge %arg6 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
            %52 = sdy.constant dense<1> : tensor<i32>
            %53 = stablehlo.add %50, %52 : tensor<i32>
            %54 = sdy.constant dense<0> : tensor<i32>
            %55 = stablehlo.compare LT, %50, %54, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %56 = stablehlo.convert %50 : tensor<i32>
            %57 = sdy.constant dense<4> : tensor<i32>
            %58 = stablehlo.add %56, %57 : tensor<i32>
            %59 = stablehlo.select %55, %58, %50 : tensor<i1>, tensor<i32>
            %60 = stablehlo.broadcast_in_dim %59, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %61 = "stablehlo.gather"(%49, %60) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 8, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8x1xi32>
            %62 = stablehlo.reshape %61 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %63 = sdy.constant dense<0> : tensor<i32>
            %64 = stablehlo.compare LT, %50, %63, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %65 = stablehlo.convert %50 : tensor<i32>
            %66 = sdy.constant dense<4> : tensor<i32>
            %67 = stablehlo.add %65, %66 : tensor<i32>
            %68 = stablehlo.select %64, %67, %50 : tensor<i1>, tensor<i32>
            %69 = stablehlo.broadcast_in_dim %68, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %70 = "stablehlo.gather"(%51, %69) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 8, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8x1xi32>
            %71 = stablehlo.reshape %70 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %72 = sdy.constant dense<0> : tensor<i32>
            %73 = stablehlo.broadcast_in_dim %72, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %74 = stablehlo.compare LT, %62, %73, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
            %75 = sdy.constant dense<4> : tensor<i32>
            %76 = stablehlo.broadcast_in_dim %75, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %77 = stablehlo.add %62, %76 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
            %78 = stablehlo.select %74, %77, %62 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
            %79 = stablehlo.broadcast_in_dim %78, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi32>) -> tensor<8x1xi32>
            %80 = "stablehlo.gather"(%51, %79) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x1xi32>) -> tensor<8x1xi32>
            %81 = stablehlo.reshape %80 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %82 = sdy.constant dense<0> : tensor<i32>
            %83 = stablehlo.compare LT, %50, %82, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %84 = sdy.constant dense<4> : tensor<i32>
            %85 = stablehlo.add %50, %84 : tensor<i32>
            %86 = stablehlo.select %83, %85, %50 : tensor<i1>, tensor<i32>
            %87 = stablehlo.convert %86 : tensor<i32>
            %88 = stablehlo.broadcast_in_dim %87, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %89 = "stablehlo.scatter"(%51, %88, %81) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
            ^bb0(%arg7: tensor<i32>, %arg8: tensor<i32>):
              stablehlo.return %arg8 : tensor<i32>
            }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>, tensor<8xi32>) -> tensor<8x4xi32>
            %90 = sdy.constant dense<0> : tensor<i32>
            %91 = stablehlo.broadcast_in_dim %90, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %92 = stablehlo.compare LT, %62, %91, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
            %93 = sdy.constant dense<4> : tensor<i32>
            %94 = stablehlo.broadcast_in_dim %93, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %95 = stablehlo.add %62, %94 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
            %96 = stablehlo.select %92, %95, %62 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
            %97 = stablehlo.broadcast_in_dim %96, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi32>) -> tensor<8x1xi32>
            %98 = "stablehlo.scatter"(%89, %97, %71) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
            ^bb0(%arg7: tensor<i32>, %arg8: tensor<i32>):
              stablehlo.return %arg8 : tensor<i32>
            }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x1xi32>, tensor<8xi32>) -> tensor<8x4xi32>
            sdy.return %53, %98 : tensor<i32>, tensor<8x4xi32>
          } : (tensor<8x4xi32>, tensor<i32>, tensor<8x4xi32>) -> (tensor<i32>, tensor<8x4xi32>)
          %45 = sdy.data_flow_edge %44#0 : tensor<i32>
          %46 = sdy.data_flow_edge %44#1 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
          %47 = sdy.constant dense<1> : tensor<i32>
          %48 = stablehlo.add %iterArg_0, %47 : tensor<i32>
          stablehlo.return %iterArg, %48, %45, %46 : tensor<8x4xi32>, tensor<i32>, tensor<i32>, tensor<8x4xi32>
        }
        %36 = sdy.data_flow_edge %35#0 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
        %37 = sdy.data_flow_edge %35#1 : tensor<i32>
        %38 = sdy.data_flow_edge %35#2 : tensor<i32>
        %39 = sdy.data_flow_edge %35#3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
        %40 = stablehlo.transpose %19, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
        %41 = sdy.named_computation<"_lu_solve">(%31, %39, %40) (%arg4: tensor<8x4x4xf32>, %arg5: tensor<8x4xi32>, %arg6: tensor<8x4x4xf32>) {
          %44 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
          %45 = sdy.data_flow_edge %arg5 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
          %46 = sdy.data_flow_edge %arg6 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
          %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4x1xf32>
          %48 = sdy.constant dense<0> : tensor<i32>
          %49 = stablehlo.broadcast_in_dim %48, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
          %50 = stablehlo.compare LT, %45, %49, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
          %51 = sdy.constant dense<4> : tensor<i32>
          %52 = stablehlo.broadcast_in_dim %51, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
          %53 = stablehlo.add %45, %52 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
          %54 = stablehlo.select %50, %53, %45 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi1>, tensor<8x4xi32>
          %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4xi32>) -> tensor<8x4x1xi32>
          %56 = "stablehlo.gather"(%47, %55) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4, 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x4x1xf32>, tensor<8x4x1xi32>) -> tensor<8x4x4x1xf32>
          %57 = stablehlo.transpose %56, dims = [0, 2, 3, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x4x1xf32>) -> tensor<8x4x1x4xf32>
          %58 = stablehlo.reshape %57 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x1x4xf32>) -> tensor<8x4x4xf32>
          %59 = stablehlo.custom_call @lapack_strsm_ffi(%44, %58) {backend_config = "", mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, l, m])->([i, n, o]) {i=8, j=4, k=4, l=4, m=4, n=4, o=4}, custom>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
          %60 = stablehlo.reshape %59 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x1x4xf32>
          %61 = stablehlo.reshape %60 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x1x4xf32>) -> tensor<8x4x4xf32>
          %62 = stablehlo.custom_call @lapack_strsm_ffi(%44, %61) {backend_config = "", mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 85 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, l, m])->([i, n, o]) {i=8, j=4, k=4, l=4, m=4, n=4, o=4}, custom>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
          %63 = stablehlo.reshape %62 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x1x4xf32>
          %64 = stablehlo.transpose %63, dims = [0, 3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x1x4xf32>) -> tensor<8x4x4x1xf32>
          %65 = stablehlo.reshape %64 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4x1xf32>) -> tensor<8x4x4xf32>
          sdy.return %65 : tensor<8x4x4xf32>
        } : (tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
        %42 = sdy.data_flow_edge %41 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %43 = stablehlo.transpose %42, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
        sdy.return %43 : tensor<8x4x4xf32>
      } : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
      %17 = sdy.data_flow_edge %16 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      sdy.return %17 : tensor<8x4x4xf32>
    } : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
    %2 = sdy.named_computation<"det">(%arg0) (%arg1: tensor<8x4x4xf32>) {
      %7 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      %8:2 = sdy.named_computation<"slogdet">(%7) (%arg2: tensor<8x4x4xf32>) {
        %13 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %14:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%13) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}, {?}]>, <@mesh, [{"X", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i]) {i=8, j=4, k=4, l=4, m=4, n=4}, custom>} : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8xi32>)
        %15 = sdy.constant dense<1> : tensor<i32>
        %16 = stablehlo.broadcast_in_dim %15, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
        %17 = stablehlo.subtract %14#1, %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
        %18 = sdy.constant dense<0> : tensor<i32>
        %19 = stablehlo.broadcast_in_dim %18, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %20 = stablehlo.compare GE, %14#2, %19, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
        %21 = stablehlo.broadcast_in_dim %20, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
        %22 = sdy.constant dense<0x7FC00000> : tensor<f32>
        %23 = stablehlo.broadcast_in_dim %22, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
        %24 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
        %25 = stablehlo.select %24, %14#0, %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
        %26 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
        %27 = sdy.constant dense<0> : tensor<i32>
        %28 = sdy.constant dense<0> : tensor<i32>
        %29:4 = stablehlo.while(%iterArg = %17, %iterArg_0 = %28, %iterArg_1 = %27, %iterArg_2 = %26) : tensor<8x4xi32>, tensor<i32>, tensor<i32>, tensor<8x4xi32>
        cond {
          %76 = sdy.constant dense<4> : tensor<i32>
          %77 = stablehlo.compare LT, %iterArg_0, %76, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %77 : tensor<i1>
        } do {
          %76:2 = sdy.named_computation<"closed_call">(%iterArg, %iterArg_1, %iterArg_2) (%arg3: tensor<8x4xi32>, %arg4: tensor<i32>, %arg5: tensor<8x4xi32>) {
            %81 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
            %82 = sdy.data_flow_edge %arg4 : tensor<i32>
            %83 = sdy.data_flow_edge %arg5 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
            %84 = sdy.constant dense<1> : tensor<i32>
            %85 = stablehlo.add %82, %84 : tensor<i32>
            %86 = sdy.constant dense<0> : tensor<i32>
            %87 = stablehlo.compare LT, %82, %86, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %88 = stablehlo.convert %82 : tensor<i32>
            %89 = sdy.constant dense<4> : tensor<i32>
            %90 = stablehlo.add %88, %89 : tensor<i32>
            %91 = stablehlo.select %87, %90, %82 : tensor<i1>, tensor<i32>
            %92 = stablehlo.broadcast_in_dim %91, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %93 = "stablehlo.gather"(%81, %92) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 8, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8x1xi32>
            %94 = stablehlo.reshape %93 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %95 = sdy.constant dense<0> : tensor<i32>
            %96 = stablehlo.compare LT, %82, %95, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %97 = stablehlo.convert %82 : tensor<i32>
            %98 = sdy.constant dense<4> : tensor<i32>
            %99 = stablehlo.add %97, %98 : tensor<i32>
            %100 = stablehlo.select %96, %99, %82 : tensor<i1>, tensor<i32>
            %101 = stablehlo.broadcast_in_dim %100, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %102 = "stablehlo.gather"(%83, %101) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 8, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8x1xi32>
            %103 = stablehlo.reshape %102 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %104 = sdy.constant dense<0> : tensor<i32>
            %105 = stablehlo.broadcast_in_dim %104, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %106 = stablehlo.compare LT, %94, %105, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
            %107 = sdy.constant dense<4> : tensor<i32>
            %108 = stablehlo.broadcast_in_dim %107, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %109 = stablehlo.add %94, %108 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
            %110 = stablehlo.select %106, %109, %94 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
            %111 = stablehlo.broadcast_in_dim %110, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi32>) -> tensor<8x1xi32>
            %112 = "stablehlo.gather"(%83, %111) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x1xi32>) -> tensor<8x1xi32>
            %113 = stablehlo.reshape %112 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %114 = sdy.constant dense<0> : tensor<i32>
            %115 = stablehlo.compare LT, %82, %114, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %116 = sdy.constant dense<4> : tensor<i32>
            %117 = stablehlo.add %82, %116 : tensor<i32>
            %118 = stablehlo.select %115, %117, %82 : tensor<i1>, tensor<i32>
            %119 = stablehlo.convert %118 : tensor<i32>
            %120 = stablehlo.broadcast_in_dim %119, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %121 = "stablehlo.scatter"(%83, %120, %113) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
            ^bb0(%arg6: tensor<i32>, %arg7: tensor<i32>):
              stablehlo.return %arg7 : tensor<i32>
            }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>, tensor<8xi32>) -> tensor<8x4xi32>
            %122 = sdy.constant dense<0> : tensor<i32>
            %123 = stablehlo.broadcast_in_dim %122, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %124 = stablehlo.compare LT, %94, %123, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
            %125 = sdy.constant dense<4> : tensor<i32>
            %126 = stablehlo.broadcast_in_dim %125, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %127 = stablehlo.add %94, %126 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
            %128 = stablehlo.select %124, %127, %94 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
            %129 = stablehlo.broadcast_in_dim %128, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi32>) -> tensor<8x1xi32>
            %130 = "stablehlo.scatter"(%121, %129, %103) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
            ^bb0(%arg6: tensor<i32>, %arg7: tensor<i32>):
              stablehlo.return %arg7 : tensor<i32>
            }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x1xi32>, tensor<8xi32>) -> tensor<8x4xi32>
            sdy.return %85, %130 : tensor<i32>, tensor<8x4xi32>
          } : (tensor<8x4xi32>, tensor<i32>, tensor<8x4xi32>) -> (tensor<i32>, tensor<8x4xi32>)
          %77 = sdy.data_flow_edge %76#0 : tensor<i32>
          %78 = sdy.data_flow_edge %76#1 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
          %79 = sdy.constant dense<1> : tensor<i32>
          %80 = stablehlo.add %iterArg_0, %79 : tensor<i32>
          stablehlo.return %iterArg, %80, %77, %78 : tensor<8x4xi32>, tensor<i32>, tensor<i32>, tensor<8x4xi32>
        }
        %30 = sdy.data_flow_edge %29#0 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
        %31 = sdy.data_flow_edge %29#1 : tensor<i32>
        %32 = sdy.data_flow_edge %29#2 : tensor<i32>
        %33 = sdy.data_flow_edge %29#3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
        %34 = sdy.named_computation<"diagonal">(%25) (%arg3: tensor<8x4x4xf32>) {
          %76 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
          %77 = stablehlo.iota dim = 0 : tensor<4xi32>
          %78 = stablehlo.iota dim = 0 : tensor<4xi32>
          %79 = sdy.constant dense<0> : tensor<i32>
          %80 = stablehlo.broadcast_in_dim %79, dims = [] : (tensor<i32>) -> tensor<4xi32>
          %81 = stablehlo.compare LT, %77, %80, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
          %82 = sdy.constant dense<4> : tensor<i32>
          %83 = stablehlo.broadcast_in_dim %82, dims = [] : (tensor<i32>) -> tensor<4xi32>
          %84 = stablehlo.add %77, %83 : tensor<4xi32>
          %85 = stablehlo.select %81, %84, %77 : tensor<4xi1>, tensor<4xi32>
          %86 = sdy.constant dense<0> : tensor<i32>
          %87 = stablehlo.broadcast_in_dim %86, dims = [] : (tensor<i32>) -> tensor<4xi32>
          %88 = stablehlo.compare LT, %78, %87, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
          %89 = sdy.constant dense<4> : tensor<i32>
          %90 = stablehlo.broadcast_in_dim %89, dims = [] : (tensor<i32>) -> tensor<4xi32>
          %91 = stablehlo.add %78, %90 : tensor<4xi32>
          %92 = stablehlo.select %88, %91, %78 : tensor<4xi1>, tensor<4xi32>
          %93 = stablehlo.broadcast_in_dim %85, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
          %94 = stablehlo.broadcast_in_dim %92, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
          %95 = stablehlo.concatenate %93, %94, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
          %96 = "stablehlo.gather"(%76, %95) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 8, 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4x4xf32>, tensor<4x2xi32>) -> tensor<8x4xf32>
          sdy.return %96 : tensor<8x4xf32>
        } : (tensor<8x4x4xf32>) -> tensor<8x4xf32>
        %35 = sdy.data_flow_edge %34 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xf32>
        %36 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %37 = stablehlo.broadcast_in_dim %36, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4xf32>
        %38 = stablehlo.compare EQ, %35, %37, FLOAT {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
        %39 = sdy.constant dense<false> : tensor<i1>
        %40 = stablehlo.reduce(%38 init: %39) applies stablehlo.or across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xi1>, tensor<i1>) -> tensor<8xi1>
        %41 = stablehlo.iota dim = 0 : tensor<4xi32>
        %42 = stablehlo.broadcast_in_dim %41, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
        %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<1x4xi32>) -> tensor<8x4xi32>
        %44 = stablehlo.compare NE, %17, %43, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
        %45 = sdy.named_computation<"count_nonzero">(%44) (%arg3: tensor<8x4xi1>) {
          %76 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi1>
          %77 = sdy.constant dense<false> : tensor<i1>
          %78 = stablehlo.broadcast_in_dim %77, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i1>) -> tensor<8x4xi1>
          %79 = stablehlo.compare NE, %76, %78, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
          %80 = stablehlo.convert %79 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>) -> tensor<8x4xi32>
          %81 = sdy.constant dense<0> : tensor<i32>
          %82 = stablehlo.reduce(%80 init: %81) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
          sdy.return %82 : tensor<8xi32>
        } : (tensor<8x4xi1>) -> tensor<8xi32>
        %46 = sdy.data_flow_edge %45 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
        %47 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %48 = stablehlo.broadcast_in_dim %47, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4xf32>
        %49 = stablehlo.compare LT, %35, %48, FLOAT {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
        %50 = sdy.named_computation<"count_nonzero">(%49) (%arg3: tensor<8x4xi1>) {
          %76 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi1>
          %77 = sdy.constant dense<false> : tensor<i1>
          %78 = stablehlo.broadcast_in_dim %77, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i1>) -> tensor<8x4xi1>
          %79 = stablehlo.compare NE, %76, %78, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
          %80 = stablehlo.convert %79 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>) -> tensor<8x4xi32>
          %81 = sdy.constant dense<0> : tensor<i32>
          %82 = stablehlo.reduce(%80 init: %81) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
          sdy.return %82 : tensor<8xi32>
        } : (tensor<8x4xi1>) -> tensor<8xi32>
        %51 = sdy.data_flow_edge %50 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
        %52 = stablehlo.add %46, %51 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
        %53 = sdy.constant dense<2> : tensor<i32>
        %54 = sdy.named_computation<"remainder">(%52, %53) (%arg3: tensor<8xi32>, %arg4: tensor<i32>) {
          %76 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
          %77 = sdy.data_flow_edge %arg4 : tensor<i32>
          %78 = stablehlo.convert %77 : tensor<i32>
          %79 = sdy.constant dense<0> : tensor<i32>
          %80 = stablehlo.compare EQ, %78, %79, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %81 = sdy.constant dense<1> : tensor<i32>
          %82 = sdy.named_computation<"_where">(%80, %81, %78) (%arg5: tensor<i1>, %arg6: tensor<i32>, %arg7: tensor<i32>) {
            %100 = sdy.data_flow_edge %arg5 : tensor<i1>
            %101 = sdy.data_flow_edge %arg6 : tensor<i32>
            %102 = sdy.data_flow_edge %arg7 : tensor<i32>
            %103 = stablehlo.select %100, %101, %102 : tensor<i1>, tensor<i32>
            sdy.return %103 : tensor<i32>
          } : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
          %83 = sdy.data_flow_edge %82 : tensor<i32>
          %84 = stablehlo.broadcast_in_dim %83, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %85 = stablehlo.remainder %76, %84 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
          %86 = sdy.constant dense<0> : tensor<i32>
          %87 = stablehlo.broadcast_in_dim %86, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %88 = stablehlo.compare NE, %85, %87, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
          %89 = sdy.constant dense<0> : tensor<i32>
          %90 = stablehlo.broadcast_in_dim %89, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %91 = stablehlo.compare LT, %85, %90, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
          %92 = sdy.constant dense<0> : tensor<i32>
          %93 = stablehlo.compare LT, %83, %92, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %94 = stablehlo.broadcast_in_dim %93, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i1>) -> tensor<8xi1>
          %95 = stablehlo.compare NE, %91, %94, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
          %96 = stablehlo.and %95, %88 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>
          %97 = stablehlo.broadcast_in_dim %83, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %98 = stablehlo.add %85, %97 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
          %99 = stablehlo.select %96, %98, %85 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
          sdy.return %99 : tensor<8xi32>
        } : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
        %55 = sdy.data_flow_edge %54 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
        %56 = sdy.constant dense<-2> : tensor<i32>
        %57 = stablehlo.broadcast_in_dim %56, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %58 = stablehlo.multiply %57, %55 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
        %59 = sdy.constant dense<1> : tensor<i32>
        %60 = stablehlo.broadcast_in_dim %59, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %61 = stablehlo.add %58, %60 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
        %62 = stablehlo.convert %61 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>) -> tensor<8xf32>
        %63 = sdy.constant dense<1.000000e+00> : tensor<f32>
        %64 = stablehlo.broadcast_in_dim %63, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
        %65 = stablehlo.multiply %64, %62 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xf32>
        %66 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %67 = sdy.named_computation<"_where_0">(%40, %66, %65) (%arg3: tensor<8xi1>, %arg4: tensor<f32>, %arg5: tensor<8xf32>) {
          %76 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}]> : tensor<8xi1>
          %77 = sdy.data_flow_edge %arg4 : tensor<f32>
          %78 = sdy.data_flow_edge %arg5 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
          %79 = stablehlo.broadcast_in_dim %77, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
          %80 = stablehlo.select %76, %79, %78 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xf32>
          sdy.return %80 : tensor<8xf32>
        } : (tensor<8xi1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
        %68 = sdy.data_flow_edge %67 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
        %69 = stablehlo.abs %35 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xf32>
        %70 = stablehlo.log %69 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xf32>
        %71 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %72 = stablehlo.reduce(%70 init: %71) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
        %73 = sdy.constant dense<0xFF800000> : tensor<f32>
        %74 = sdy.named_computation<"_where_0">(%40, %73, %72) (%arg3: tensor<8xi1>, %arg4: tensor<f32>, %arg5: tensor<8xf32>) {
          %76 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}]> : tensor<8xi1>
          %77 = sdy.data_flow_edge %arg4 : tensor<f32>
          %78 = sdy.data_flow_edge %arg5 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
          %79 = stablehlo.broadcast_in_dim %77, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
          %80 = stablehlo.select %76, %79, %78 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xf32>
          sdy.return %80 : tensor<8xf32>
        } : (tensor<8xi1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
        %75 = sdy.data_flow_edge %74 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
        sdy.return %68, %75 : tensor<8xf32>, tensor<8xf32>
      } : (tensor<8x4x4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
      %9 = sdy.data_flow_edge %8#0 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
      %10 = sdy.data_flow_edge %8#1 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
      %11 = stablehlo.exponential %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xf32>
      %12 = stablehlo.multiply %9, %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xf32>
      sdy.return %12 : tensor<8xf32>
    } : (tensor<8x4x4xf32>) -> tensor<8xf32>
    %3 = sdy.data_flow_edge %2 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
    %4:2 = sdy.named_computation<"slogdet">(%arg0) (%arg1: tensor<8x4x4xf32>) {
      %7 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      %8:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%7) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}, {?}]>, <@mesh, [{"X", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i]) {i=8, j=4, k=4, l=4, m=4, n=4}, custom>} : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8xi32>)
      %9 = sdy.constant dense<1> : tensor<i32>
      %10 = stablehlo.broadcast_in_dim %9, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
      %11 = stablehlo.subtract %8#1, %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
      %12 = sdy.constant dense<0> : tensor<i32>
      %13 = stablehlo.broadcast_in_dim %12, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
      %14 = stablehlo.compare GE, %8#2, %13, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
      %15 = stablehlo.broadcast_in_dim %14, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
      %16 = sdy.constant dense<0x7FC00000> : tensor<f32>
      %17 = stablehlo.broadcast_in_dim %16, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
      %18 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
      %19 = stablehlo.select %18, %8#0, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
      %20 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
      %21 = sdy.constant dense<0> : tensor<i32>
      %22 = sdy.constant dense<0> : tensor<i32>
      %23:4 = stablehlo.while(%iterArg = %11, %iterArg_0 = %22, %iterArg_1 = %21, %iterArg_2 = %20) : tensor<8x4xi32>, tensor<i32>, tensor<i32>, tensor<8x4xi32>
      cond {
        %70 = sdy.constant dense<4> : tensor<i32>
        %71 = stablehlo.compare LT, %iterArg_0, %70, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %71 : tensor<i1>
      } do {
        %70:2 = sdy.named_computation<"closed_call">(%iterArg, %iterArg_1, %iterArg_2) (%arg2: tensor<8x4xi32>, %arg3: tensor<i32>, %arg4: tensor<8x4xi32>) {
          %75 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
          %76 = sdy.data_flow_edge %arg3 : tensor<i32>
          %77 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
          %78 = sdy.constant dense<1> : tensor<i32>
          %79 = stablehlo.add %76, %78 : tensor<i32>
          %80 = sdy.constant dense<0> : tensor<i32>
          %81 = stablehlo.compare LT, %76, %80, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %82 = stablehlo.convert %76 : tensor<i32>
          %83 = sdy.constant dense<4> : tensor<i32>
          %84 = stablehlo.add %82, %83 : tensor<i32>
          %85 = stablehlo.select %81, %84, %76 : tensor<i1>, tensor<i32>
          %86 = stablehlo.broadcast_in_dim %85, dims = [] : (tensor<i32>) -> tensor<1xi32>
          %87 = "stablehlo.gather"(%75, %86) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 8, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8x1xi32>
          %88 = stablehlo.reshape %87 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
          %89 = sdy.constant dense<0> : tensor<i32>
          %90 = stablehlo.compare LT, %76, %89, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %91 = stablehlo.convert %76 : tensor<i32>
          %92 = sdy.constant dense<4> : tensor<i32>
          %93 = stablehlo.add %91, %92 : tensor<i32>
          %94 = stablehlo.select %90, %93, %76 : tensor<i1>, tensor<i32>
          %95 = stablehlo.broadcast_in_dim %94, dims = [] : (tensor<i32>) -> tensor<1xi32>
          %96 = "stablehlo.gather"(%77, %95) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 8, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8x1xi32>
          %97 = stablehlo.reshape %96 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
          %98 = sdy.constant dense<0> : tensor<i32>
          %99 = stablehlo.broadcast_in_dim %98, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %100 = stablehlo.compare LT, %88, %99, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
          %101 = sdy.constant dense<4> : tensor<i32>
          %102 = stablehlo.broadcast_in_dim %101, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %103 = stablehlo.add %88, %102 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
          %104 = stablehlo.select %100, %103, %88 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
          %105 = stablehlo.broadcast_in_dim %104, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi32>) -> tensor<8x1xi32>
          %106 = "stablehlo.gather"(%77, %105) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x1xi32>) -> tensor<8x1xi32>
          %107 = stablehlo.reshape %106 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
          %108 = sdy.constant dense<0> : tensor<i32>
          %109 = stablehlo.compare LT, %76, %108, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %110 = sdy.constant dense<4> : tensor<i32>
          %111 = stablehlo.add %76, %110 : tensor<i32>
          %112 = stablehlo.select %109, %111, %76 : tensor<i1>, tensor<i32>
          %113 = stablehlo.convert %112 : tensor<i32>
          %114 = stablehlo.broadcast_in_dim %113, dims = [] : (tensor<i32>) -> tensor<1xi32>
          %115 = "stablehlo.scatter"(%77, %114, %107) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
          ^bb0(%arg5: tensor<i32>, %arg6: tensor<i32>):
            stablehlo.return %arg6 : tensor<i32>
          }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>, tensor<8xi32>) -> tensor<8x4xi32>
          %116 = sdy.constant dense<0> : tensor<i32>
          %117 = stablehlo.broadcast_in_dim %116, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %118 = stablehlo.compare LT, %88, %117, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
          %119 = sdy.constant dense<4> : tensor<i32>
          %120 = stablehlo.broadcast_in_dim %119, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %121 = stablehlo.add %88, %120 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
          %122 = stablehlo.select %118, %121, %88 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
          %123 = stablehlo.broadcast_in_dim %122, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi32>) -> tensor<8x1xi32>
          %124 = "stablehlo.scatter"(%115, %123, %97) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
          ^bb0(%arg5: tensor<i32>, %arg6: tensor<i32>):
            stablehlo.return %arg6 : tensor<i32>
          }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x1xi32>, tensor<8xi32>) -> tensor<8x4xi32>
          sdy.return %79, %124 : tensor<i32>, tensor<8x4xi32>
        } : (tensor<8x4xi32>, tensor<i32>, tensor<8x4xi32>) -> (tensor<i32>, tensor<8x4xi32>)
        %71 = sdy.data_flow_edge %70#0 : tensor<i32>
        %72 = sdy.data_flow_edge %70#1 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
        %73 = sdy.constant dense<1> : tensor<i32>
        %74 = stablehlo.add %iterArg_0, %73 : tensor<i32>
        stablehlo.return %iterArg, %74, %71, %72 : tensor<8x4xi32>, tensor<i32>, tensor<i32>, tensor<8x4xi32>
      }
      %24 = sdy.data_flow_edge %23#0 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
      %25 = sdy.data_flow_edge %23#1 : tensor<i32>
      %26 = sdy.data_flow_edge %23#2 : tensor<i32>
      %27 = sdy.data_flow_edge %23#3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
      %28 = sdy.named_computation<"diagonal">(%19) (%arg2: tensor<8x4x4xf32>) {
        %70 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %71 = stablehlo.iota dim = 0 : tensor<4xi32>
        %72 = stablehlo.iota dim = 0 : tensor<4xi32>
        %73 = sdy.constant dense<0> : tensor<i32>
        %74 = stablehlo.broadcast_in_dim %73, dims = [] : (tensor<i32>) -> tensor<4xi32>
        %75 = stablehlo.compare LT, %71, %74, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
        %76 = sdy.constant dense<4> : tensor<i32>
        %77 = stablehlo.broadcast_in_dim %76, dims = [] : (tensor<i32>) -> tensor<4xi32>
        %78 = stablehlo.add %71, %77 : tensor<4xi32>
        %79 = stablehlo.select %75, %78, %71 : tensor<4xi1>, tensor<4xi32>
        %80 = sdy.constant dense<0> : tensor<i32>
        %81 = stablehlo.broadcast_in_dim %80, dims = [] : (tensor<i32>) -> tensor<4xi32>
        %82 = stablehlo.compare LT, %72, %81, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
        %83 = sdy.constant dense<4> : tensor<i32>
        %84 = stablehlo.broadcast_in_dim %83, dims = [] : (tensor<i32>) -> tensor<4xi32>
        %85 = stablehlo.add %72, %84 : tensor<4xi32>
        %86 = stablehlo.select %82, %85, %72 : tensor<4xi1>, tensor<4xi32>
        %87 = stablehlo.broadcast_in_dim %79, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
        %88 = stablehlo.broadcast_in_dim %86, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
        %89 = stablehlo.concatenate %87, %88, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
        %90 = "stablehlo.gather"(%70, %89) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 8, 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4x4xf32>, tensor<4x2xi32>) -> tensor<8x4xf32>
        sdy.return %90 : tensor<8x4xf32>
      } : (tensor<8x4x4xf32>) -> tensor<8x4xf32>
      %29 = sdy.data_flow_edge %28 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xf32>
      %30 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %31 = stablehlo.broadcast_in_dim %30, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4xf32>
      %32 = stablehlo.compare EQ, %29, %31, FLOAT {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
      %33 = sdy.constant dense<false> : tensor<i1>
      %34 = stablehlo.reduce(%32 init: %33) applies stablehlo.or across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xi1>, tensor<i1>) -> tensor<8xi1>
      %35 = stablehlo.iota dim = 0 : tensor<4xi32>
      %36 = stablehlo.broadcast_in_dim %35, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
      %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<1x4xi32>) -> tensor<8x4xi32>
      %38 = stablehlo.compare NE, %11, %37, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
      %39 = sdy.named_computation<"count_nonzero">(%38) (%arg2: tensor<8x4xi1>) {
        %70 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi1>
        %71 = sdy.constant dense<false> : tensor<i1>
        %72 = stablehlo.broadcast_in_dim %71, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i1>) -> tensor<8x4xi1>
        %73 = stablehlo.compare NE, %70, %72, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
        %74 = stablehlo.convert %73 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>) -> tensor<8x4xi32>
        %75 = sdy.constant dense<0> : tensor<i32>
        %76 = stablehlo.reduce(%74 init: %75) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
        sdy.return %76 : tensor<8xi32>
      } : (tensor<8x4xi1>) -> tensor<8xi32>
      %40 = sdy.data_flow_edge %39 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
      %41 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %42 = stablehlo.broadcast_in_dim %41, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4xf32>
      %43 = stablehlo.compare LT, %29, %42, FLOAT {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
      %44 = sdy.named_computation<"count_nonzero">(%43) (%arg2: tensor<8x4xi1>) {
        %70 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi1>
        %71 = sdy.constant dense<false> : tensor<i1>
        %72 = stablehlo.broadcast_in_dim %71, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i1>) -> tensor<8x4xi1>
        %73 = stablehlo.compare NE, %70, %72, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
        %74 = stablehlo.convert %73 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>) -> tensor<8x4xi32>
        %75 = sdy.constant dense<0> : tensor<i32>
        %76 = stablehlo.reduce(%74 init: %75) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
        sdy.return %76 : tensor<8xi32>
      } : (tensor<8x4xi1>) -> tensor<8xi32>
      %45 = sdy.data_flow_edge %44 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
      %46 = stablehlo.add %40, %45 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
      %47 = sdy.constant dense<2> : tensor<i32>
      %48 = sdy.named_computation<"remainder">(%46, %47) (%arg2: tensor<8xi32>, %arg3: tensor<i32>) {
        %70 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
        %71 = sdy.data_flow_edge %arg3 : tensor<i32>
        %72 = stablehlo.convert %71 : tensor<i32>
        %73 = sdy.constant dense<0> : tensor<i32>
        %74 = stablehlo.compare EQ, %72, %73, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %75 = sdy.constant dense<1> : tensor<i32>
        %76 = sdy.named_computation<"_where">(%74, %75, %72) (%arg4: tensor<i1>, %arg5: tensor<i32>, %arg6: tensor<i32>) {
          %94 = sdy.data_flow_edge %arg4 : tensor<i1>
          %95 = sdy.data_flow_edge %arg5 : tensor<i32>
          %96 = sdy.data_flow_edge %arg6 : tensor<i32>
          %97 = stablehlo.select %94, %95, %96 : tensor<i1>, tensor<i32>
          sdy.return %97 : tensor<i32>
        } : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
        %77 = sdy.data_flow_edge %76 : tensor<i32>
        %78 = stablehlo.broadcast_in_dim %77, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %79 = stablehlo.remainder %70, %78 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
        %80 = sdy.constant dense<0> : tensor<i32>
        %81 = stablehlo.broadcast_in_dim %80, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %82 = stablehlo.compare NE, %79, %81, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
        %83 = sdy.constant dense<0> : tensor<i32>
        %84 = stablehlo.broadcast_in_dim %83, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %85 = stablehlo.compare LT, %79, %84, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
        %86 = sdy.constant dense<0> : tensor<i32>
        %87 = stablehlo.compare LT, %77, %86, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %88 = stablehlo.broadcast_in_dim %87, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i1>) -> tensor<8xi1>
        %89 = stablehlo.compare NE, %85, %88, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
        %90 = stablehlo.and %89, %82 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>
        %91 = stablehlo.broadcast_in_dim %77, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %92 = stablehlo.add %79, %91 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
        %93 = stablehlo.select %90, %92, %79 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
        sdy.return %93 : tensor<8xi32>
      } : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
      %49 = sdy.data_flow_edge %48 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
      %50 = sdy.constant dense<-2> : tensor<i32>
      %51 = stablehlo.broadcast_in_dim %50, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
      %52 = stablehlo.multiply %51, %49 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
      %53 = sdy.constant dense<1> : tensor<i32>
      %54 = stablehlo.broadcast_in_dim %53, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
      %55 = stablehlo.add %52, %54 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
      %56 = stablehlo.convert %55 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>) -> tensor<8xf32>
      %57 = sdy.constant dense<1.000000e+00> : tensor<f32>
      %58 = stablehlo.broadcast_in_dim %57, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
      %59 = stablehlo.multiply %58, %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xf32>
      %60 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %61 = sdy.named_computation<"_where_0">(%34, %60, %59) (%arg2: tensor<8xi1>, %arg3: tensor<f32>, %arg4: tensor<8xf32>) {
        %70 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}]> : tensor<8xi1>
        %71 = sdy.data_flow_edge %arg3 : tensor<f32>
        %72 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
        %73 = stablehlo.broadcast_in_dim %71, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
        %74 = stablehlo.select %70, %73, %72 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xf32>
        sdy.return %74 : tensor<8xf32>
      } : (tensor<8xi1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
      %62 = sdy.data_flow_edge %61 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
      %63 = stablehlo.abs %29 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xf32>
      %64 = stablehlo.log %63 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xf32>
      %65 = sdy.constant dense<0.000000e+00> : tensor<f32>
      %66 = stablehlo.reduce(%64 init: %65) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
      %67 = sdy.constant dense<0xFF800000> : tensor<f32>
      %68 = sdy.named_computation<"_where_0">(%34, %67, %66) (%arg2: tensor<8xi1>, %arg3: tensor<f32>, %arg4: tensor<8xf32>) {
        %70 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}]> : tensor<8xi1>
        %71 = sdy.data_flow_edge %arg3 : tensor<f32>
        %72 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
        %73 = stablehlo.broadcast_in_dim %71, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
        %74 = stablehlo.select %70, %73, %72 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xf32>
        sdy.return %74 : tensor<8xf32>
      } : (tensor<8xi1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
      %69 = sdy.data_flow_edge %68 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
      sdy.return %62, %69 : tensor<8xf32>, tensor<8xf32>
    } : (tensor<8x4x4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %5 = sdy.data_flow_edge %4#0 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
    %6 = sdy.data_flow_edge %4#1 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
    return %1, %3, %5, %6 : tensor<8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}
