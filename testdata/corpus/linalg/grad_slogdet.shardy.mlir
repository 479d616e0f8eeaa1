module @jit_grad_slogdet attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}, {}]>}) -> (tensor<8x4x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {?}, {?}]>}) {
    %0:6 = sdy.named_computation<"slogdet">(%arg0) (%arg1: tensor<8x4x4xf32>) {
      %15 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      %16:2 = sdy.named_computation<"slogdet_0">(%15) (%arg2: tensor<8x4x4xf32>) {
        %28 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %29:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%28) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}, {?}]>, <@mesh, [{"X", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i]) {i=8, j=4, k=4, l=4, m=4, n=4}, custom>} : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8xi32>)
        %30 = sdy.constant dense<1> : tensor<i32>
        %31 = stablehlo.broadcast_in_dim %30, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
        %32 = stablehlo.subtract %29#1, %31 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
        %33 = sdy.constant dense<0> : tensor<i32>
        %34 = stablehlo.broadcast_in_dim %33, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %35 = stablehlo.compare GE, %29#2, %34, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
        %36 = stablehlo.broadcast_in_dim %35, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
        %37 = sdy.constant dense<0x7FC00000> : tensor<f32>
        %38 = stablehlo.broadcast_in_dim %37, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
        %39 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
        %40 = stablehlo.select %39, %29#0, %38 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
        %41 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
        %42 = sdy.constant dense<0> : tensor<i32>
        %43 = sdy.constant dense<0> : tensor<i32>
        %44:4 = stablehlo.while(%iterArg = %32, %iterArg_0 = %43, %iterArg_1 = %42, %iterArg_2 = %41) : tensor<8x4xi32>, tensor<i32>, tensor<i32>, tensor<8x4xi32>
        cond {
          %91 = sdy.constant dense<4> : tensor<i32>
          %92 = stablehlo.compare LT, %iterArg_0, %91, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %92 : tensor<i1>
        } do {
          %91:2 = sdy.named_computation<"closed_call">(%iterArg, %iterArg_1, %iterArg_2) (%arg3: tensor<8x4xi32>, %arg4: tensor<i32>, %arg5: tensor<8x4xi32>) {
            %96 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
            %97 = sdy.data_flow_edge %arg4 : tensor<i32>
            %98 = sdy.data_flow_edge %arg5 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
            %99 = sdy.constant dense<1> : tensor<i32>
            %100 = stablehlo.add %97, %99 : tensor<i32>
            %101 = sdy.constant dense<0> : tensor<i32>
            %102 = stablehlo.compare LT, %97, %101, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %103 = stablehlo.convert %97 : tensor<i32>
            %104 = sdy.constant dense<4> : tensor<i32>
            %105 = stablehlo.add %103, %104 : tensor<i32>
            %106 = stablehlo.select %102, %105, %97 : tensor<i1>, tensor<i32>
            %107 = stablehlo.broadcast_in_dim %106, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %108 = "stablehlo.gather"(%96, %107) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 8, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8x1xi32>
            %109 = stablehlo.reshape %108 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %110 = sdy.constant dense<0> : tensor<i32>
            %111 = stablehlo.compare LT, %97, %110, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %112 = stablehlo.convert %97 : tensor<i32>
            %113 = sdy.constant dense<4> : tensor<i32>
            %114 = stablehlo.add %112, %113 : tensor<i32>
            %115 = stablehlo.select %111, %114, %97 : tensor<i1>, tensor<i32>
            %116 = stablehlo.broadcast_in_dim %115, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %117 = "stablehlo.gather"(%98, %116) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 8, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8x1xi32>
            %118 = stablehlo.reshape %117 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %119 = sdy.constant dense<0> : tensor<i32>
            %120 = stablehlo.broadcast_in_dim %119, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %121 = stablehlo.compare LT, %109, %120, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
            %122 = sdy.constant dense<4> : tensor<i32>
            %123 = stablehlo.broadcast_in_dim %122, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %124 = stablehlo.add %109, %123 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
            %125 = stablehlo.select %121, %124, %109 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
            %126 = stablehlo.broadcast_in_dim %125, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi32>) -> tensor<8x1xi32>
            %127 = "stablehlo.gather"(%98, %126) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x1xi32>) -> tensor<8x1xi32>
            %128 = stablehlo.reshape %127 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %129 = sdy.constant dense<0> : tensor<i32>
            %130 = stablehlo.compare LT, %97, %129, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %131 = sdy.constant dense<4> : tensor<i32>
            %132 = stablehlo.add %97, %131 : tensor<i32>
            %133 = stablehlo.select %130, %132, %97 : tensor<i1>, tensor<i32>
            %134 = stablehlo.convert %133 : tensor<i32>
            %135 = stablehlo.broadcast_in_dim %134, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %136 = "stablehlo.scatter"(%98, %135, %128) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
            ^bb0(%arg6: tensor<i32>, %arg7: tensor<i32>):
              stablehlo.return %arg7 : tensor<i32>
            }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>, tensor<8xi32>) -> tensor<8x4xi32>
            %137 = sdy.constant dense<0> : tensor<i32>
            %138 = stablehlo.broadcast_in_dim %137, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %139 = stablehlo.compare LT, %109, %138, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
            %140 = sdy.constant dense<4> : tensor<i32>
            %141 = stablehlo.broadcast_in_dim %140, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %142 = stablehlo.add %109, %141 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
            %143 = stablehlo.select %139, %142, %109 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
            %144 = stablehlo.broadcast_in_dim %143, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi32>) -> tensor<8x1xi32>
            %145 = "stablehlo.scatter"(%136, %144, %118) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
            ^bb0(%arg6: tensor<i32>, %arg7: tensor<i32>):
              stablehlo.return %arg7 : tensor<i32>
            }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x1xi32>, tensor<8xi32>) -> tensor<8x4xi32>
            sdy.return %100, %145 : tensor<i32>, tensor<8x4xi32>
          } : (tensor<8x4xi32>, tensor<i32>, tensor<8x4xi32>) -> (tensor<i32>, tensor<8x4xi32>)
          %92 = sdy.data_flow_edge %91#0 : tensor<i32>
          %93 = sdy.data_flow_edge %91#1 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
          %94 = sdy.constant dense<1> : tensor<i32>
          %95 = stablehlo.add %iterArg_0, %94 : tensor<i32>
          stablehlo.return %iterArg, %95, %92, %93 : tensor<8x4xi32>, tensor<i32>, tensor<i32>, tensor<8x4xi32>
        }
        %45 = sdy.data_flow_edge %44#0 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
        %46 = sdy.data_flow_edge %44#1 : tensor<i32>
        %47 = sdy.data_flow_edge %44#2 : tensor<i32>
        %48 = sdy.data_flow_edge %44#3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
        %49 = sdy.named_computation<"diagonal">(%40) (%arg3: tensor<8x4x4xf32>) {
          %91 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
          %92 = stablehlo.iota dim = 0 : tensor<4xi32>
          %93 = stablehlo.iota dim = 0 : tensor<4xi32>
          %94 = sdy.constant dense<0> : tensor<i32>
          %95 = stablehlo.broadcast_in_dim %94, dims = [] : (tensor<i32>) -> tensor<4xi32>
          %96 = stablehlo.compare LT, %92, %95, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
          %97 = sdy.constant dense<4> : tensor<i32>
          %98 = stablehlo.broadcast_in_dim %97, dims = [] : (tensor<i32>) -> tensor<4xi32>
          %99 = stablehlo.add %92, %98 : tensor<4xi32>
          %100 = stablehlo.select %96, %99, %92 : tensor<4xi1>, tensor<4xi32>
          %101 = sdy.constant dense<0> : tensor<i32>
          %102 = stablehlo.broadcast_in_dim %101, dims = [] : (tensor<i32>) -> tensor<4xi32>
          %103 = stablehlo.compare LT, %93, %102, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
          %104 = sdy.constant dense<4> : tensor<i32>
          %105 = stablehlo.broadcast_in_dim %104, dims = [] : (tensor<i32>) -> tensor<4xi32>
          %106 = stablehlo.add %93, %105 : tensor<4xi32>
          %107 = stablehlo.select %103, %106, %93 : tensor<4xi1>, tensor<4xi32>
          %108 = stablehlo.broadcast_in_dim %100, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
          %109 = stablehlo.broadcast_in_dim %107, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
          %110 = stablehlo.concatenate %108, %109, dim = 1 : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x2xi32>
          %111 = "stablehlo.gather"(%91, %110) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 8, 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4x4xf32>, tensor<4x2xi32>) -> tensor<8x4xf32>
          sdy.return %111 : tensor<8x4xf32>
        } : (tensor<8x4x4xf32>) -> tensor<8x4xf32>
        %50 = sdy.data_flow_edge %49 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xf32>
        %51 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %52 = stablehlo.broadcast_in_dim %51, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4xf32>
        %53 = stablehlo.compare EQ, %50, %52, FLOAT {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
        %54 = sdy.constant dense<false> : tensor<i1>
        %55 = stablehlo.reduce(%53 init: %54) applies stablehlo.or across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xi1>, tensor<i1>) -> tensor<8xi1>
        %56 = stablehlo.iota dim = 0 : tensor<4xi32>
        %57 = stablehlo.broadcast_in_dim %56, dims = [1] : (tensor<4xi32>) -> tensor<1x4xi32>
        %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<1x4xi32>) -> tensor<8x4xi32>
        %59 = stablehlo.compare NE, %32, %58, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
        %60 = sdy.named_computation<"count_nonzero">(%59) (%arg3: tensor<8x4xi1>) {
          %91 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi1>
          %92 = sdy.constant dense<false> : tensor<i1>
          %93 = stablehlo.broadcast_in_dim %92, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i1>) -> tensor<8x4xi1>
          %94 = stablehlo.compare NE, %91, %93, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
          %95 = stablehlo.convert %94 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>) -> tensor<8x4xi32>
          %96 = sdy.constant dense<0> : tensor<i32>
          %97 = stablehlo.reduce(%95 init: %96) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
          sdy.return %97 : tensor<8xi32>
        } : (tensor<8x4xi1>) -> tensor<8xi32>
        %61 = sdy.data_flow_edge %60 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
        %62 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %63 = stablehlo.broadcast_in_dim %62, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4xf32>
        %64 = stablehlo.compare LT, %50, %63, FLOAT {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
        %65 = sdy.named_computation<"count_nonzero">(%64) (%arg3: tensor<8x4xi1>) {
          %91 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi1>
          %92 = sdy.constant dense<false> : tensor<i1>
          %93 = stablehlo.broadcast_in_dim %92, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i1>) -> tensor<8x4xi1>
          %94 = stablehlo.compare NE, %91, %93, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>, tensor<8x4xi1>) -> tensor<8x4xi1>
          %95 = stablehlo.convert %94 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi1>) -> tensor<8x4xi32>
          %96 = sdy.constant dense<0> : tensor<i32>
          %97 = stablehlo.reduce(%95 init: %96) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xi32>, tensor<i32>) -> tensor<8xi32>
          sdy.return %97 : tensor<8xi32>
        } : (tensor<8x4xi1>) -> tensor<8xi32>
        %66 = sdy.data_flow_edge %65 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
        %67 = stablehlo.add %61, %66 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
        %68 = sdy.constant dense<2> : tensor<i32>
        %69 = sdy.named_computation<"remainder">(%67, %68) (%arg3: tensor<8xi32>, %arg4: tensor<i32>) {
          %91 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
          %92 = sdy.data_flow_edge %arg4 : tensor<i32>
          %93 = stablehlo.convert %92 : tensor<i32>
          %94 = sdy.constant dense<0> : tensor<i32>
          %95 = stablehlo.compare EQ, %93, %94, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %96 = sdy.constant dense<1> : tensor<i32>
          %97 = sdy.named_computation<"_where">(%95, %96, %93) (%arg5: tensor<i1>, %arg6: tensor<i32>, %arg7: tensor<i32>) {
            %115 = sdy.data_flow_edge %arg5 : tensor<i1>
            %116 = sdy.data_flow_edge %arg6 : tensor<i32>
            %117 = sdy.data_flow_edge %arg7 : tensor<i32>
            %118 = stablehlo.select %115, %116, %117 : tensor<i1>, tensor<i32>
            sdy.return %118 : tensor<i32>
          } : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
          %98 = sdy.data_flow_edge %97 : tensor<i32>
          %99 = stablehlo.broadcast_in_dim %98, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %100 = stablehlo.remainder %91, %99 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
          %101 = sdy.constant dense<0> : tensor<i32>
          %102 = stablehlo.broadcast_in_dim %101, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %103 = stablehlo.compare NE, %100, %102, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
          %104 = sdy.constant dense<0> : tensor<i32>
          %105 = stablehlo.broadcast_in_dim %104, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %106 = stablehlo.compare LT, %100, %105, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
          %107 = sdy.constant dense<0> : tensor<i32>
          %108 = stablehlo.compare LT, %98, %107, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %109 = stablehlo.broadcast_in_dim %108, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i1>) -> tensor<8xi1>
          %110 = stablehlo.compare NE, %106, %109, UNSIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
          %111 = stablehlo.and %110, %103 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>
          %112 = stablehlo.broadcast_in_dim %98, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
          %113 = stablehlo.add %100, %112 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
          %114 = stablehlo.select %111, %113, %100 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
          sdy.return %114 : tensor<8xi32>
        } : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
        %70 = sdy.data_flow_edge %69 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
        %71 = sdy.constant dense<-2> : tensor<i32>
        %72 = stablehlo.broadcast_in_dim %71, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %73 = stablehlo.multiply %72, %70 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
        %74 = sdy.constant dense<1> : tensor<i32>
        %75 = stablehlo.broadcast_in_dim %74, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %76 = stablehlo.add %73, %75 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
        %77 = stablehlo.convert %76 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>) -> tensor<8xf32>
        %78 = sdy.constant dense<1.000000e+00> : tensor<f32>
        %79 = stablehlo.broadcast_in_dim %78, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
        %80 = stablehlo.multiply %79, %77 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xf32>
        %81 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %82 = sdy.named_computation<"_where_1">(%55, %81, %80) (%arg3: tensor<8xi1>, %arg4: tensor<f32>, %arg5: tensor<8xf32>) {
          %91 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}]> : tensor<8xi1>
          %92 = sdy.data_flow_edge %arg4 : tensor<f32>
          %93 = sdy.data_flow_edge %arg5 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
          %94 = stablehlo.broadcast_in_dim %92, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
          %95 = stablehlo.select %91, %94, %93 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xf32>
          sdy.return %95 : tensor<8xf32>
        } : (tensor<8xi1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
        %83 = sdy.data_flow_edge %82 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
        %84 = stablehlo.abs %50 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xf32>
        %85 = stablehlo.log %84 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xf32>
        %86 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %87 = stablehlo.reduce(%85 init: %86) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
        %88 = sdy.constant dense<0xFF800000> : tensor<f32>
        %89 = sdy.named_computation<"_where_1">(%55, %88, %87) (%arg3: tensor<8xi1>, %arg4: tensor<f32>, %arg5: tensor<8xf32>) {
          %91 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}]> : tensor<8xi1>
          %92 = sdy.data_flow_edge %arg4 : tensor<f32>
          %93 = sdy.data_flow_edge %arg5 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
          %94 = stablehlo.broadcast_in_dim %92, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
          %95 = stablehlo.select %91, %94, %93 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xf32>
          sdy.return %95 : tensor<8xf32>
        } : (tensor<8xi1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
        %90 = sdy.data_flow_edge %89 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
        sdy.return %83, %90 : tensor<8xf32>, tensor<8xf32>
      } : (tensor<8x4x4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
      %17 = sdy.data_flow_edge %16#0 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
      %18 = sdy.data_flow_edge %16#1 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
      %19:2 = sdy.named_computation<"solve">(%15) (%arg2: tensor<8x4x4xf32>) {
        %28 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %29:3 = stablehlo.custom_call @lapack_sgetrf_ffi(%28) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>, <@mesh, [{"X", ?}, {?}]>, <@mesh, [{"X", ?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i]) {i=8, j=4, k=4, l=4, m=4, n=4}, custom>} : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8xi32>)
        %30 = sdy.constant dense<1> : tensor<i32>
        %31 = stablehlo.broadcast_in_dim %30, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
        %32 = stablehlo.subtract %29#1, %31 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
        %33 = sdy.constant dense<0> : tensor<i32>
        %34 = stablehlo.broadcast_in_dim %33, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
        %35 = stablehlo.compare GE, %29#2, %34, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
        %36 = stablehlo.broadcast_in_dim %35, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xi1>) -> tensor<8x1x1xi1>
        %37 = sdy.constant dense<0x7FC00000> : tensor<f32>
        %38 = stablehlo.broadcast_in_dim %37, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
        %39 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x1x1xi1>) -> tensor<8x4x4xi1>
        %40 = stablehlo.select %39, %29#0, %38 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
        %41 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
        %42 = sdy.constant dense<0> : tensor<i32>
        %43 = sdy.constant dense<0> : tensor<i32>
        %44:4 = stablehlo.while(%iterArg = %32, %iterArg_0 = %43, %iterArg_1 = %42, %iterArg_2 = %41) : tensor<8x4xi32>, tensor<i32>, tensor<i32>, tensor<8x4xi32>
        cond {
          %49 = sdy.constant dense<4> : tensor<i32>
          %50 = stablehlo.compare LT, %iterArg_0, %49, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %50 : tensor<i1>
        } do {
          %49:2 = sdy.named_computation<"closed_call">(%iterArg, %iterArg_1, %iterArg_2) (%arg3: tensor<8x4xi32>, %arg4: tensor<i32>, %arg5: tensor<8x4xi32>) {
            %54 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
            %55 = sdy.data_flow_edge %arg4 : tensor<i32>
            %56 = sdy.data_flow_edge %arg5 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
            %57 = sdy.constant dense<1> : tensor<i32>
            %58 = stablehlo.add %55, %57 : tensor<i32>
            %59 = sdy.constant dense<0> : tensor<i32>
            %60 = stablehlo.compare LT, %55, %59, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %61 = stablehlo.convert %55 : tensor<i32>
            %62 = sdy.constant dense<4> : tensor<i32>
            %63 = stablehlo.add %61, %62 : tensor<i32>
            %64 = stablehlo.select %60, %63, %55 : tensor<i1>, tensor<i32>
            %65 = stablehlo.broadcast_in_dim %64, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %66 = "stablehlo.gather"(%54, %65) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 8, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8x1xi32>
            %67 = stablehlo.reshape %66 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %68 = sdy.constant dense<0> : tensor<i32>
            %69 = stablehlo.compare LT, %55, %68, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %70 = stablehlo.convert %55 : tensor<i32>
            %71 = sdy.constant dense<4> : tensor<i32>
            %72 = stablehlo.add %70, %71 : tensor<i32>
            %73 = stablehlo.select %69, %72, %55 : tensor<i1>, tensor<i32>
            %74 = stablehlo.broadcast_in_dim %73, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %75 = "stablehlo.gather"(%56, %74) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [1]>, indices_are_sorted = true, slice_sizes = array<i64: 8, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>) -> tensor<8x1xi32>
            %76 = stablehlo.reshape %75 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %77 = sdy.constant dense<0> : tensor<i32>
            %78 = stablehlo.broadcast_in_dim %77, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %79 = stablehlo.compare LT, %67, %78, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
            %80 = sdy.constant dense<4> : tensor<i32>
            %81 = stablehlo.broadcast_in_dim %80, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %82 = stablehlo.add %67, %81 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
            %83 = stablehlo.select %79, %82, %67 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
            %84 = stablehlo.broadcast_in_dim %83, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi32>) -> tensor<8x1xi32>
            %85 = "stablehlo.gather"(%56, %84) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x1xi32>) -> tensor<8x1xi32>
            %86 = stablehlo.reshape %85 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x1xi32>) -> tensor<8xi32>
            %87 = sdy.constant dense<0> : tensor<i32>
            %88 = stablehlo.compare LT, %55, %87, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %89 = sdy.constant dense<4> : tensor<i32>
            %90 = stablehlo.add %55, %89 : tensor<i32>
            %91 = stablehlo.select %88, %90, %55 : tensor<i1>, tensor<i32>
            %92 = stablehlo.convert %91 : tensor<i32>
            %93 = stablehlo.broadcast_in_dim %92, dims = [] : (tensor<i32>) -> tensor<1xi32>
            %94 = "stablehlo.scatter"(%56, %93, %86) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
            ^bb0(%arg6: tensor<i32>, %arg7: tensor<i32>):
              stablehlo.return %arg7 : tensor<i32>
            }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<1xi32>, tensor<8xi32>) -> tensor<8x4xi32>
            %95 = sdy.constant dense<0> : tensor<i32>
            %96 = stablehlo.broadcast_in_dim %95, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %97 = stablehlo.compare LT, %67, %96, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
            %98 = sdy.constant dense<4> : tensor<i32>
            %99 = stablehlo.broadcast_in_dim %98, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<i32>) -> tensor<8xi32>
            %100 = stablehlo.add %67, %99 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi32>
            %101 = stablehlo.select %97, %100, %67 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xi1>, tensor<8xi32>
            %102 = stablehlo.broadcast_in_dim %101, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8xi32>) -> tensor<8x1xi32>
            %103 = "stablehlo.scatter"(%94, %102, %76) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
            ^bb0(%arg6: tensor<i32>, %arg7: tensor<i32>):
              stablehlo.return %arg7 : tensor<i32>
            }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x1xi32>, tensor<8xi32>) -> tensor<8x4xi32>
            sdy.return %58, %103 : tensor<i32>, tensor<8x4xi32>
          } : (tensor<8x4xi32>, tensor<i32>, tensor<8x4xi32>) -> (tensor<i32>, tensor<8x4xi32>)
          %50 = sdy.data_flow_edge %49#0 : tensor<i32>
          %51 = sdy.data_flow_edge %49#1 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
          %52 = sdy.constant dense<1> : tensor<i32>
          %53 = stablehlo.add %iterArg_0, %52 : tensor<i32>
          stablehlo.return %iterArg, %53, %50, %51 : tensor<8x4xi32>, tensor<i32>, tensor<i32>, tensor<8x4xi32>
        }
        %45 = sdy.data_flow_edge %44#0 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
        %46 = sdy.data_flow_edge %44#1 : tensor<i32>
        %47 = sdy.data_flow_edge %44#2 : tensor<i32>
        %48 = sdy.data_flow_edge %44#3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
        sdy.return %40, %48 : tensor<8x4x4xf32>, tensor<8x4xi32>
      } : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xi32>)
      %20 = sdy.data_flow_edge %19#0 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      %21 = sdy.data_flow_edge %19#1 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
      %22:2 = sdy.named_computation<"trace">() () {
        %28 = stablehlo.iota dim = 0 : tensor<4x4xi32>
        %29 = stablehlo.iota dim = 1 : tensor<4x4xi32>
        %30 = sdy.constant dense<0> : tensor<i32>
        %31 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
        %32 = stablehlo.add %28, %31 : tensor<4x4xi32>
        %33 = stablehlo.compare EQ, %32, %29, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
        %34 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %35 = stablehlo.broadcast_in_dim %34, dims = [] : (tensor<f32>) -> tensor<8x4x4xf32>
        %36 = sdy.named_computation<"_where_2">(%33) (%arg2: tensor<4x4xi1>) {
          %38 = sdy.data_flow_edge %arg2 : tensor<4x4xi1>
          %39 = stablehlo.broadcast_in_dim %38, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<4x4xi1>) -> tensor<8x4x4xi1>
          sdy.return %39 : tensor<8x4x4xi1>
        } : (tensor<4x4xi1>) -> tensor<8x4x4xi1>
        %37 = sdy.data_flow_edge %36 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xi1>
        sdy.return %37, %35 : tensor<8x4x4xi1>, tensor<8x4x4xf32>
      } : () -> (tensor<8x4x4xi1>, tensor<8x4x4xf32>)
      %23 = sdy.data_flow_edge %22#0 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xi1>
      %24 = sdy.data_flow_edge %22#1 : tensor<8x4x4xf32>
      %25:2 = sdy.named_computation<"trace">() () {
        %28 = stablehlo.iota dim = 0 : tensor<4x4xi32>
        %29 = stablehlo.iota dim = 1 : tensor<4x4xi32>
        %30 = sdy.constant dense<0> : tensor<i32>
        %31 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
        %32 = stablehlo.add %28, %31 : tensor<4x4xi32>
        %33 = stablehlo.compare EQ, %32, %29, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
        %34 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %35 = stablehlo.broadcast_in_dim %34, dims = [] : (tensor<f32>) -> tensor<8x4x4xf32>
        %36 = sdy.named_computation<"_where_2">(%33) (%arg2: tensor<4x4xi1>) {
          %38 = sdy.data_flow_edge %arg2 : tensor<4x4xi1>
          %39 = stablehlo.broadcast_in_dim %38, dims = [1, 2] : (tensor<4x4xi1>) -> tensor<8x4x4xi1>
          sdy.return %39 : tensor<8x4x4xi1>
        } : (tensor<4x4xi1>) -> tensor<8x4x4xi1>
        %37 = sdy.data_flow_edge %36 : tensor<8x4x4xi1>
        sdy.return %37, %35 : tensor<8x4x4xi1>, tensor<8x4x4xf32>
      } : () -> (tensor<8x4x4xi1>, tensor<8x4x4xf32>)
      %26 = sdy.data_flow_edge %25#0 : tensor<8x4x4xi1>
      %27 = sdy.data_flow_edge %25#1 : tensor<8x4x4xf32>
      sdy.return %17, %18, %20, %21, %23, %27 : tensor<8xf32>, tensor<8xf32>, tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8x4x4xi1>, tensor<8x4x4xf32>
    } : (tensor<8x4x4xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8x4x4xi1>, tensor<8x4x4xf32>)
    %1 = sdy.data_flow_edge %0#0 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
    %2 = sdy.data_flow_edge %0#1 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
    %3 = sdy.data_flow_edge %0#2 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
    %4 = sdy.data_flow_edge %0#3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
    %5 = sdy.data_flow_edge %0#4 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xi1>
    %6 = sdy.data_flow_edge %0#5 : tensor<8x4x4xf32>
    %7 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<f32>) -> tensor<8xf32>
    %10 = stablehlo.multiply %2, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xf32>
    %11 = stablehlo.multiply %9, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xf32>
    %12 = stablehlo.add %10, %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<8xf32>
    %13 = sdy.named_computation<"slogdet_3">(%arg0, %3, %4, %5, %6, %12) (%arg1: tensor<8x4x4xf32>, %arg2: tensor<8x4x4xf32>, %arg3: tensor<8x4xi32>, %arg4: tensor<8x4x4xi1>, %arg5: tensor<8x4x4xf32>, %arg6: tensor<8xf32>) {
      %15 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      %16 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      %17 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
      %18 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xi1>
      %19 = sdy.data_flow_edge %arg5 : tensor<8x4x4xf32>
      %20 = sdy.data_flow_edge %arg6 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
      %21 = sdy.named_computation<"trace_4">(%18, %19, %20) (%arg7: tensor<8x4x4xi1>, %arg8: tensor<8x4x4xf32>, %arg9: tensor<8xf32>) {
        %25 = sdy.data_flow_edge %arg7 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xi1>
        %26 = sdy.data_flow_edge %arg8 : tensor<8x4x4xf32>
        %27 = sdy.data_flow_edge %arg9 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
        %28 = stablehlo.broadcast_in_dim %27, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8xf32>) -> tensor<8x4x4xf32>
        %29 = sdy.named_computation<"_where_5">(%25, %26, %28) (%arg10: tensor<8x4x4xi1>, %arg11: tensor<8x4x4xf32>, %arg12: tensor<8x4x4xf32>) {
          %32 = sdy.data_flow_edge %arg10 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xi1>
          %33 = sdy.data_flow_edge %arg11 : tensor<8x4x4xf32>
          %34 = sdy.data_flow_edge %arg12 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
          %35 = sdy.constant dense<0.000000e+00> : tensor<f32>
          %36 = stablehlo.broadcast_in_dim %35, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<f32>) -> tensor<8x4x4xf32>
          %37 = stablehlo.select %32, %34, %36 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
          sdy.return %37 : tensor<8x4x4xf32>
        } : (tensor<8x4x4xi1>, tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
        %30 = sdy.data_flow_edge %29 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %31 = stablehlo.transpose %30, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
        sdy.return %31 : tensor<8x4x4xf32>
      } : (tensor<8x4x4xi1>, tensor<8x4x4xf32>, tensor<8xf32>) -> tensor<8x4x4xf32>
      %22 = sdy.data_flow_edge %21 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      %23 = sdy.named_computation<"solve_6">(%15, %16, %17, %22) (%arg7: tensor<8x4x4xf32>, %arg8: tensor<8x4x4xf32>, %arg9: tensor<8x4xi32>, %arg10: tensor<8x4x4xf32>) {
        %25 = sdy.data_flow_edge %arg7 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %26 = sdy.data_flow_edge %arg8 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %27 = sdy.data_flow_edge %arg9 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
        %28 = sdy.data_flow_edge %arg10 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %29 = stablehlo.transpose %28, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
        %30 = sdy.named_computation<"_lu_solve">(%26, %27, %29) (%arg11: tensor<8x4x4xf32>, %arg12: tensor<8x4xi32>, %arg13: tensor<8x4x4xf32>) {
          %33 = sdy.data_flow_edge %arg11 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
          %34 = sdy.data_flow_edge %arg12 sharding=<@mesh, [{"X", ?}, {?}]> : tensor<8x4xi32>
          %35 = sdy.data_flow_edge %arg13 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
          %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4x1xf32>
          %37 = stablehlo.transpose %36, dims = [0, 2, 3, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x4x1xf32>) -> tensor<8x4x1x4xf32>
          %38 = stablehlo.reshape %37 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x1x4xf32>) -> tensor<8x4x4xf32>
          %39 = stablehlo.custom_call @lapack_strsm_ffi(%33, %38) {backend_config = "", mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 85 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, l, m])->([i, n, o]) {i=8, j=4, k=4, l=4, m=4, n=4, o=4}, custom>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
          %40 = stablehlo.reshape %39 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x1x4xf32>
          %41 = stablehlo.reshape %40 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x1x4xf32>) -> tensor<8x4x4xf32>
          %42 = stablehlo.custom_call @lapack_strsm_ffi(%33, %41) {backend_config = "", mhlo.backend_config = {diag = 85 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, l, m])->([i, n, o]) {i=8, j=4, k=4, l=4, m=4, n=4, o=4}, custom>} : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
          %43 = stablehlo.reshape %42 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x1x4xf32>
          %44 = stablehlo.iota dim = 0 : tensor<4xi32>
          %45 = stablehlo.broadcast_in_dim %44, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<4xi32>) -> tensor<8x4xi32>
          %46:2 = "stablehlo.sort"(%34, %45) <{dimension = 1 : i64, is_stable = true}> ({
          ^bb0(%arg14: tensor<i32>, %arg15: tensor<i32>, %arg16: tensor<i32>, %arg17: tensor<i32>):
            %58 = stablehlo.compare LT, %arg14, %arg15, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %58 : tensor<i1>
          }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>, <@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> (tensor<8x4xi32>, tensor<8x4xi32>)
          %47 = sdy.constant dense<0> : tensor<i32>
          %48 = stablehlo.broadcast_in_dim %47, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
          %49 = stablehlo.compare LT, %46#1, %48, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
          %50 = sdy.constant dense<4> : tensor<i32>
          %51 = stablehlo.broadcast_in_dim %50, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : (tensor<i32>) -> tensor<8x4xi32>
          %52 = stablehlo.add %46#1, %51 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi32>
          %53 = stablehlo.select %49, %52, %46#1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}]>]>} : tensor<8x4xi1>, tensor<8x4xi32>
          %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4xi32>) -> tensor<8x4x1xi32>
          %55 = stablehlo.transpose %43, dims = [0, 3, 1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x1x4xf32>) -> tensor<8x4x4x1xf32>
          %56 = "stablehlo.gather"(%55, %54) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4, 1, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}, {?}]>]>} : (tensor<8x4x4x1xf32>, tensor<8x4x1xi32>) -> tensor<8x4x4x1xf32>
          %57 = stablehlo.reshape %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4x1xf32>) -> tensor<8x4x4xf32>
          sdy.return %57 : tensor<8x4x4xf32>
        } : (tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
        %31 = sdy.data_flow_edge %30 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
        %32 = stablehlo.transpose %31, dims = [0, 2, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {?}, {?}]>]>} : (tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
        sdy.return %32 : tensor<8x4x4xf32>
      } : (tensor<8x4x4xf32>, tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8x4x4xf32>) -> tensor<8x4x4xf32>
      %24 = sdy.data_flow_edge %23 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
      sdy.return %24 : tensor<8x4x4xf32>
    } : (tensor<8x4x4xf32>, tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8x4x4xi1>, tensor<8x4x4xf32>, tensor<8xf32>) -> tensor<8x4x4xf32>
    %14 = sdy.data_flow_edge %13 sharding=<@mesh, [{"X", ?}, {?}, {?}]> : tensor<8x4x4xf32>
    return %14 : tensor<8x4x4xf32>
  }
}
