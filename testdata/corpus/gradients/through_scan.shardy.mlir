module @jit_through_scan attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %arg1: tensor<3x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"model"}]>}) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<3x16x16xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {"model", ?}]>}) {
    %0 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"data", ?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<3x8x16xf32>
    %2 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"data", ?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<3x8x16xf32>
    %4 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"data", ?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<3x8x16xf32>
    %6 = sdy.constant dense<0> : tensor<i32>
    %7:6 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %6, %iterArg_1 = %arg0, %iterArg_2 = %1, %iterArg_3 = %3, %iterArg_4 = %5) : tensor<3x16x16xf32>, tensor<i32>, tensor<8x16xf32>, tensor<3x8x16xf32>, tensor<3x8x16xf32>, tensor<3x8x16xf32>
    cond {
      %33 = sdy.constant dense<3> : tensor<i32>
      %34 = stablehlo.compare LT, %iterArg_0, %33, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %34 : tensor<i1>
    } do {
      %33 = sdy.named_computation<"dynamic_index_in_dim">(%iterArg, %iterArg_0) (%arg2: tensor<3x16x16xf32>, %arg3: tensor<i32>) {
        %48 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {?}, {"model", ?}]> : tensor<3x16x16xf32>
        %49 = sdy.data_flow_edge %arg3 : tensor<i32>
        %50 = sdy.constant dense<0> : tensor<i32>
        %51 = sdy.constant dense<0> : tensor<i32>
        %52 = stablehlo.dynamic_slice %48, %49, %50, %51, sizes = [1, 16, 16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"model", ?}]>]>} : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
        %53 = stablehlo.reshape %52 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
        sdy.return %53 : tensor<16x16xf32>
      } : (tensor<3x16x16xf32>, tensor<i32>) -> tensor<16x16xf32>
      %34 = sdy.data_flow_edge %33 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<16x16xf32>
      %35:4 = sdy.named_computation<"closed_call">(%iterArg_1, %34) (%arg2: tensor<8x16xf32>, %arg3: tensor<16x16xf32>) {
        %48 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{"data", ?}, {"model", ?}]> : tensor<8x16xf32>
        %49 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<16x16xf32>
        %50 = stablehlo.dot_general %48, %49, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}]>]>} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
        %51 = stablehlo.tanh %50 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}]>]>} : tensor<8x16xf32>
        %52 = sdy.constant dense<1.000000e+00> : tensor<f32>
        %53 = stablehlo.broadcast_in_dim %52, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<8x16xf32>
        %54 = stablehlo.subtract %53, %51 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data", ?}, {"model", ?}]>]>} : tensor<8x16xf32>
        sdy.return %51, %48, %51, %54 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
      } : (tensor<8x16xf32>, tensor<16x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
      %36 = sdy.data_flow_edge %35#0 sharding=<@mesh, [{"data", ?}, {"model", ?}]> : tensor<8x16xf32>
      %37 = sdy.data_flow_edge %35#1 sharding=<@mesh, [{"data", ?}, {"model", ?}]> : tensor<8x16xf32>
      %38 = sdy.data_flow_edge %35#2 sharding=<@mesh, [{"data", ?}, {"model", ?}]> : tensor<8x16xf32>
      %39 = sdy.data_flow_edge %35#3 sharding=<@mesh, [{"data", ?}, {"model", ?}]> : tensor<8x16xf32>
      %40 = sdy.named_computation<"dynamic_update_index_in_dim">(%iterArg_2, %37, %iterArg_0) (%arg2: tensor<3x8x16xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<i32>) {
        %48 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
        %49 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"data", ?}, {"model", ?}]> : tensor<8x16xf32>
        %50 = sdy.data_flow_edge %arg4 : tensor<i32>
        %51 = stablehlo.broadcast_in_dim %49, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"data", ?}, {"model", ?}]>]>} : (tensor<8x16xf32>) -> tensor<1x8x16xf32>
        %52 = sdy.constant dense<0> : tensor<i32>
        %53 = sdy.constant dense<0> : tensor<i32>
        %54 = stablehlo.dynamic_update_slice %48, %51, %50, %52, %53 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"data", ?}, {"model", ?}]>]>} : (tensor<3x8x16xf32>, tensor<1x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x16xf32>
        sdy.return %54 : tensor<3x8x16xf32>
      } : (tensor<3x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<3x8x16xf32>
      %41 = sdy.data_flow_edge %40 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
      %42 = sdy.named_computation<"dynamic_update_index_in_dim">(%iterArg_3, %38, %iterArg_0) (%arg2: tensor<3x8x16xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<i32>) {
        %48 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
        %49 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"data", ?}, {"model", ?}]> : tensor<8x16xf32>
        %50 = sdy.data_flow_edge %arg4 : tensor<i32>
        %51 = stablehlo.broadcast_in_dim %49, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"data", ?}, {"model", ?}]>]>} : (tensor<8x16xf32>) -> tensor<1x8x16xf32>
        %52 = sdy.constant dense<0> : tensor<i32>
        %53 = sdy.constant dense<0> : tensor<i32>
        %54 = stablehlo.dynamic_update_slice %48, %51, %50, %52, %53 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"data", ?}, {"model", ?}]>]>} : (tensor<3x8x16xf32>, tensor<1x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x16xf32>
        sdy.return %54 : tensor<3x8x16xf32>
      } : (tensor<3x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<3x8x16xf32>
      %43 = sdy.data_flow_edge %42 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
      %44 = sdy.named_computation<"dynamic_update_index_in_dim">(%iterArg_4, %39, %iterArg_0) (%arg2: tensor<3x8x16xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<i32>) {
        %48 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
        %49 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"data", ?}, {"model", ?}]> : tensor<8x16xf32>
        %50 = sdy.data_flow_edge %arg4 : tensor<i32>
        %51 = stablehlo.broadcast_in_dim %49, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"data", ?}, {"model", ?}]>]>} : (tensor<8x16xf32>) -> tensor<1x8x16xf32>
        %52 = sdy.constant dense<0> : tensor<i32>
        %53 = sdy.constant dense<0> : tensor<i32>
        %54 = stablehlo.dynamic_update_slice %48, %51, %50, %52, %53 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"data", ?}, {"model", ?}]>]>} : (tensor<3x8x16xf32>, tensor<1x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x16xf32>
        sdy.return %54 : tensor<3x8x16xf32>
      } : (tensor<3x8x16xf32>, tensor<8x16xf32>, tensor<i32>) -> tensor<3x8x16xf32>
      %45 = sdy.data_flow_edge %44 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
      %46 = sdy.constant dense<1> : tensor<i32>
      %47 = stablehlo.add %iterArg_0, %46 : tensor<i32>
      stablehlo.return %iterArg, %47, %36, %41, %43, %45 : tensor<3x16x16xf32>, tensor<i32>, tensor<8x16xf32>, tensor<3x8x16xf32>, tensor<3x8x16xf32>, tensor<3x8x16xf32>
    }
    %8 = sdy.data_flow_edge %7#0 sharding=<@mesh, [{?}, {?}, {"model", ?}]> : tensor<3x16x16xf32>
    %9 = sdy.data_flow_edge %7#1 : tensor<i32>
    %10 = sdy.data_flow_edge %7#2 sharding=<@mesh, [{"data", ?}, {"model", ?}]> : tensor<8x16xf32>
    %11 = sdy.data_flow_edge %7#3 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
    %12 = sdy.data_flow_edge %7#4 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
    %13 = sdy.data_flow_edge %7#5 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
    %14 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%10 init: %14) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
    %16 = sdy.constant dense<1.280000e+02> : tensor<f32>
    %17 = stablehlo.divide %15, %16 : tensor<f32>
    %18 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %19 = sdy.constant dense<1.280000e+02> : tensor<f32>
    %20 = stablehlo.divide %18, %19 : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<8x16xf32>
    %22 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"model", ?}]>]>} : (tensor<f32>) -> tensor<3x16x16xf32>
    %24 = sdy.constant dense<0> : tensor<i32>
    %25:7 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %11, %iterArg_1 = %12, %iterArg_2 = %13, %iterArg_3 = %24, %iterArg_4 = %21, %iterArg_5 = %23) : tensor<3x16x16xf32>, tensor<3x8x16xf32>, tensor<3x8x16xf32>, tensor<3x8x16xf32>, tensor<i32>, tensor<8x16xf32>, tensor<3x16x16xf32>
    cond {
      %33 = sdy.constant dense<3> : tensor<i32>
      %34 = stablehlo.compare LT, %iterArg_3, %33, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %34 : tensor<i1>
    } do {
      %33 = sdy.constant dense<3> : tensor<i32>
      %34 = stablehlo.subtract %33, %iterArg_3 : tensor<i32>
      %35 = sdy.constant dense<1> : tensor<i32>
      %36 = stablehlo.subtract %34, %35 : tensor<i32>
      %37 = sdy.named_computation<"dynamic_index_in_dim">(%iterArg, %36) (%arg2: tensor<3x16x16xf32>, %arg3: tensor<i32>) {
        %52 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {?}, {"model", ?}]> : tensor<3x16x16xf32>
        %53 = sdy.data_flow_edge %arg3 : tensor<i32>
        %54 = sdy.constant dense<0> : tensor<i32>
        %55 = sdy.constant dense<0> : tensor<i32>
        %56 = stablehlo.dynamic_slice %52, %53, %54, %55, sizes = [1, 16, 16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"model", ?}]>]>} : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
        %57 = stablehlo.reshape %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
        sdy.return %57 : tensor<16x16xf32>
      } : (tensor<3x16x16xf32>, tensor<i32>) -> tensor<16x16xf32>
      %38 = sdy.data_flow_edge %37 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<16x16xf32>
      %39 = sdy.named_computation<"dynamic_index_in_dim_0">(%iterArg_0, %36) (%arg2: tensor<3x8x16xf32>, %arg3: tensor<i32>) {
        %52 = sdy.data_flow_edge %arg2 : tensor<3x8x16xf32>
        %53 = sdy.data_flow_edge %arg3 : tensor<i32>
        %54 = sdy.constant dense<0> : tensor<i32>
        %55 = sdy.constant dense<0> : tensor<i32>
        %56 = stablehlo.dynamic_slice %52, %53, %54, %55, sizes = [1, 8, 16] : (tensor<3x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
        %57 = stablehlo.reshape %56 : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
        sdy.return %57 : tensor<8x16xf32>
      } : (tensor<3x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %40 = sdy.data_flow_edge %39 : tensor<8x16xf32>
      %41 = sdy.named_computation<"dynamic_index_in_dim_0">(%iterArg_1, %36) (%arg2: tensor<3x8x16xf32>, %arg3: tensor<i32>) {
        %52 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {?}, {"model", ?}]> : tensor<3x8x16xf32>
        %53 = sdy.data_flow_edge %arg3 : tensor<i32>
        %54 = sdy.constant dense<0> : tensor<i32>
        %55 = sdy.constant dense<0> : tensor<i32>
        %56 = stablehlo.dynamic_slice %52, %53, %54, %55, sizes = [1, 8, 16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"model", ?}]>]>} : (tensor<3x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
        %57 = stablehlo.reshape %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
        sdy.return %57 : tensor<8x16xf32>
      } : (tensor<3x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %42 = sdy.data_flow_edge %41 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<8x16xf32>
      %43 = sdy.named_computation<"dynamic_index_in_dim_0">(%iterArg_2, %36) (%arg2: tensor<3x8x16xf32>, %arg3: tensor<i32>) {
        %52 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {?}, {"model", ?}]> : tensor<3x8x16xf32>
        %53 = sdy.data_flow_edge %arg3 : tensor<i32>
        %54 = sdy.constant dense<0> : tensor<i32>
        %55 = sdy.constant dense<0> : tensor<i32>
        %56 = stablehlo.dynamic_slice %52, %53, %54, %55, sizes = [1, 8, 16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"model", ?}]>]>} : (tensor<3x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
        %57 = stablehlo.reshape %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
        sdy.return %57 : tensor<8x16xf32>
      } : (tensor<3x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %44 = sdy.data_flow_edge %43 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<8x16xf32>
      %45:2 = sdy.named_computation<"closed_call_1">(%iterArg_4, %38, %40, %42, %44) (%arg2: tensor<8x16xf32>, %arg3: tensor<16x16xf32>, %arg4: tensor<8x16xf32>, %arg5: tensor<8x16xf32>, %arg6: tensor<8x16xf32>) {
        %52 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<8x16xf32>
        %53 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<16x16xf32>
        %54 = sdy.data_flow_edge %arg4 : tensor<8x16xf32>
        %55 = sdy.data_flow_edge %arg5 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<8x16xf32>
        %56 = sdy.data_flow_edge %arg6 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<8x16xf32>
        %57 = stablehlo.multiply %52, %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : tensor<8x16xf32>
        %58 = stablehlo.multiply %57, %55 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : tensor<8x16xf32>
        %59 = stablehlo.add %57, %58 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : tensor<8x16xf32>
        %60 = stablehlo.dot_general %59, %54, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model", ?}, {?}]>]>} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
        %61 = stablehlo.transpose %60, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<16x16xf32>) -> tensor<16x16xf32>
        %62 = stablehlo.dot_general %59, %53, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"model", ?}]>]>} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
        sdy.return %62, %61 : tensor<8x16xf32>, tensor<16x16xf32>
      } : (tensor<8x16xf32>, tensor<16x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16x16xf32>)
      %46 = sdy.data_flow_edge %45#0 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<8x16xf32>
      %47 = sdy.data_flow_edge %45#1 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<16x16xf32>
      %48 = sdy.named_computation<"dynamic_update_index_in_dim_2">(%iterArg_5, %47, %36) (%arg2: tensor<3x16x16xf32>, %arg3: tensor<16x16xf32>, %arg4: tensor<i32>) {
        %52 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{?}, {?}, {"model", ?}]> : tensor<3x16x16xf32>
        %53 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<16x16xf32>
        %54 = sdy.data_flow_edge %arg4 : tensor<i32>
        %55 = stablehlo.broadcast_in_dim %53, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"model", ?}]>]>} : (tensor<16x16xf32>) -> tensor<1x16x16xf32>
        %56 = sdy.constant dense<0> : tensor<i32>
        %57 = sdy.constant dense<0> : tensor<i32>
        %58 = stablehlo.dynamic_update_slice %52, %55, %54, %56, %57 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"model", ?}]>]>} : (tensor<3x16x16xf32>, tensor<1x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x16x16xf32>
        sdy.return %58 : tensor<3x16x16xf32>
      } : (tensor<3x16x16xf32>, tensor<16x16xf32>, tensor<i32>) -> tensor<3x16x16xf32>
      %49 = sdy.data_flow_edge %48 sharding=<@mesh, [{?}, {?}, {"model", ?}]> : tensor<3x16x16xf32>
      %50 = sdy.constant dense<1> : tensor<i32>
      %51 = stablehlo.add %iterArg_3, %50 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_0, %iterArg_1, %iterArg_2, %51, %46, %49 : tensor<3x16x16xf32>, tensor<3x8x16xf32>, tensor<3x8x16xf32>, tensor<3x8x16xf32>, tensor<i32>, tensor<8x16xf32>, tensor<3x16x16xf32>
    }
    %26 = sdy.data_flow_edge %25#0 sharding=<@mesh, [{?}, {?}, {"model", ?}]> : tensor<3x16x16xf32>
    %27 = sdy.data_flow_edge %25#1 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
    %28 = sdy.data_flow_edge %25#2 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
    %29 = sdy.data_flow_edge %25#3 sharding=<@mesh, [{?}, {"data", ?}, {"model", ?}]> : tensor<3x8x16xf32>
    %30 = sdy.data_flow_edge %25#4 : tensor<i32>
    %31 = sdy.data_flow_edge %25#5 sharding=<@mesh, [{?}, {"model", ?}]> : tensor<8x16xf32>
    %32 = sdy.data_flow_edge %25#6 sharding=<@mesh, [{?}, {?}, {"model", ?}]> : tensor<3x16x16xf32>
    return %17, %32 : tensor<f32>, tensor<3x16x16xf32>
  }
}
