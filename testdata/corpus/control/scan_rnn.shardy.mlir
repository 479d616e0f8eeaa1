module @jit_scan_rnn attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}, %arg1: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}, %arg2: tensor<5x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<8x16xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}, tensor<5x8xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{?}, {"X", ?}]>}) {
    %0 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"X", ?}]>]>} : (tensor<f32>) -> tensor<5x8xf32>
    %2 = sdy.constant dense<0> : tensor<i32>
    %3:5 = stablehlo.while(%iterArg = %arg2, %iterArg_0 = %arg1, %iterArg_1 = %2, %iterArg_2 = %arg0, %iterArg_3 = %1) : tensor<5x8x16xf32>, tensor<16x16xf32>, tensor<i32>, tensor<8x16xf32>, tensor<5x8xf32>
    cond {
      %9 = sdy.constant dense<5> : tensor<i32>
      %10 = stablehlo.compare LT, %iterArg_1, %9, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %9 = sdy.named_computation<"dynamic_index_in_dim">(%iterArg, %iterArg_1) (%arg3: tensor<5x8x16xf32>, %arg4: tensor<i32>) {
        %18 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{?}, {"X", ?}, {"Y", ?}]> : tensor<5x8x16xf32>
        %19 = sdy.data_flow_edge %arg4 : tensor<i32>
        %20 = sdy.constant dense<0> : tensor<i32>
        %21 = sdy.constant dense<0> : tensor<i32>
        %22 = stablehlo.dynamic_slice %18, %19, %20, %21, sizes = [1, 8, 16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"X", ?}, {"Y", ?}]>]>} : (tensor<5x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
        %23 = stablehlo.reshape %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
        sdy.return %23 : tensor<8x16xf32>
      } : (tensor<5x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %10 = sdy.data_flow_edge %9 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
      %11:2 = sdy.named_computation<"closed_call">(%iterArg_0, %iterArg_2, %10) (%arg3: tensor<16x16xf32>, %arg4: tensor<8x16xf32>, %arg5: tensor<8x16xf32>) {
        %18 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{?}, {"Y", ?}]> : tensor<16x16xf32>
        %19 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
        %20 = sdy.data_flow_edge %arg5 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
        %21 = stablehlo.dot_general %19, %18, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
        %22 = sdy.constant dense<8.000000e+00> : tensor<f32>
        %23 = stablehlo.broadcast_in_dim %22, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<f32>) -> tensor<8x16xf32>
        %24 = stablehlo.divide %21, %23 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xf32>
        %25 = stablehlo.add %24, %20 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xf32>
        %26 = stablehlo.tanh %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xf32>
        %27 = sdy.constant dense<0.000000e+00> : tensor<f32>
        %28 = stablehlo.reduce(%26 init: %27) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
        sdy.return %26, %28 : tensor<8x16xf32>, tensor<8xf32>
      } : (tensor<16x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>)
      %12 = sdy.data_flow_edge %11#0 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
      %13 = sdy.data_flow_edge %11#1 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
      %14 = sdy.named_computation<"dynamic_update_index_in_dim">(%iterArg_3, %13, %iterArg_1) (%arg3: tensor<5x8xf32>, %arg4: tensor<8xf32>, %arg5: tensor<i32>) {
        %18 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{?}, {"X", ?}]> : tensor<5x8xf32>
        %19 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{"X", ?}]> : tensor<8xf32>
        %20 = sdy.data_flow_edge %arg5 : tensor<i32>
        %21 = stablehlo.broadcast_in_dim %19, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"X", ?}]>]>} : (tensor<8xf32>) -> tensor<1x8xf32>
        %22 = sdy.constant dense<0> : tensor<i32>
        %23 = stablehlo.dynamic_update_slice %18, %21, %20, %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"X", ?}]>]>} : (tensor<5x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<5x8xf32>
        sdy.return %23 : tensor<5x8xf32>
      } : (tensor<5x8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<5x8xf32>
      %15 = sdy.data_flow_edge %14 sharding=<@mesh, [{?}, {"X", ?}]> : tensor<5x8xf32>
      %16 = sdy.constant dense<1> : tensor<i32>
      %17 = stablehlo.add %iterArg_1, %16 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_0, %17, %12, %15 : tensor<5x8x16xf32>, tensor<16x16xf32>, tensor<i32>, tensor<8x16xf32>, tensor<5x8xf32>
    }
    %4 = sdy.data_flow_edge %3#0 sharding=<@mesh, [{?}, {"X", ?}, {"Y", ?}]> : tensor<5x8x16xf32>
    %5 = sdy.data_flow_edge %3#1 sharding=<@mesh, [{?}, {"Y", ?}]> : tensor<16x16xf32>
    %6 = sdy.data_flow_edge %3#2 : tensor<i32>
    %7 = sdy.data_flow_edge %3#3 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
    %8 = sdy.data_flow_edge %3#4 sharding=<@mesh, [{?}, {"X", ?}]> : tensor<5x8xf32>
    return %7, %8 : tensor<8x16xf32>, tensor<5x8xf32>
  }
}
