module @jit_scan_rnn attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}, %arg1: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}, %arg2: tensor<5x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<8x16xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, tensor<5x8xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{}, {"X"}]>}) {
    %0 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"X"}]>]>} : (tensor<f32>) -> tensor<5x8xf32>
    %2 = sdy.constant dense<0> : tensor<i32>
    %3:5 = stablehlo.while(%iterArg = %arg2, %iterArg_0 = %arg1, %iterArg_1 = %2, %iterArg_2 = %arg0, %iterArg_3 = %1) : tensor<5x8x16xf32>, tensor<16x16xf32>, tensor<i32>, tensor<8x16xf32>, tensor<5x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"X"}, {"Y"}]>, <@mesh, [{}, {"Y"}]>, <@mesh, []>, <@mesh, [{"X"}, {"Y"}]>, <@mesh, [{}, {"X"}]>]>}
    cond {
      %4 = sdy.constant dense<5> : tensor<i32>
      %5 = stablehlo.compare LT, %iterArg_1, %4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %4 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<5x8x16xf32>, tensor<i32>) -> tensor<8x16xf32>
      %5:2 = func.call @closed_call(%iterArg_0, %iterArg_2, %4) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>, <@mesh, [{"X"}]>]>} : (tensor<16x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8xf32>)
      %6 = func.call @dynamic_update_index_in_dim(%iterArg_3, %5#1, %iterArg_1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"X"}]>]>} : (tensor<5x8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<5x8xf32>
      %7 = sdy.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg_1, %7 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_0, %8, %5#0, %6 : tensor<5x8x16xf32>, tensor<16x16xf32>, tensor<i32>, tensor<8x16xf32>, tensor<5x8xf32>
    }
    return %3#3, %3#4 : tensor<8x16xf32>, tensor<5x8xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<5x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"X"}, {"Y"}]>}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
    %0 = sdy.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_slice %arg0, %arg1, %0, %0, sizes = [1, 8, 16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"X"}, {"Y"}]>]>} : (tensor<5x8x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xf32>
    %2 = stablehlo.reshape %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
    return %2 : tensor<8x16xf32>
  }
  func.func private @closed_call(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}, %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, %arg2: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}]>}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %1 = sdy.constant dense<8.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : (tensor<f32>) -> tensor<8x16xf32>
    %3 = stablehlo.divide %0, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : tensor<8x16xf32>
    %4 = stablehlo.add %3, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : tensor<8x16xf32>
    %5 = stablehlo.tanh %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}, {"Y"}]>]>} : tensor<8x16xf32>
    %6 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X"}]>]>} : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
    return %5, %7 : tensor<8x16xf32>, tensor<8xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<5x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"X"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}]>}, %arg2: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<5x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"X"}]>}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"X"}]>]>} : (tensor<8xf32>) -> tensor<1x8xf32>
    %1 = sdy.constant dense<0> : tensor<i32>
    %2 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"X"}]>]>} : (tensor<5x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<5x8xf32>
    return %2 : tensor<5x8xf32>
  }
}
