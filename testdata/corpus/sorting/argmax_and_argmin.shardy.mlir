module @jit_argmax_and_argmin attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<8xi32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}]>}, tensor<16xi32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"Y", ?}]>}, tensor<i32> {jax.result_info = "result[2]"}) {
    %0 = sdy.named_computation<"argmax">(%arg0) (%arg1: tensor<8x16xf32>) {
      %7 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
      %8 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xi32>
      %9 = sdy.constant dense<0xFF800000> : tensor<f32>
      %10 = sdy.constant dense<0> : tensor<i32>
      %11:2 = stablehlo.reduce(%7 init: %9), (%8 init: %10) across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>, <@mesh, [{"X", ?}]>]>} : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
       reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<i32>, %arg5: tensor<i32>)  {
        %12 = stablehlo.compare GT, %arg2, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %13 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %14 = stablehlo.or %12, %13 : tensor<i1>
        %15 = stablehlo.compare EQ, %arg2, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %16 = stablehlo.compare LT, %arg3, %arg5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %17 = stablehlo.and %15, %16 : tensor<i1>
        %18 = stablehlo.or %14, %17 : tensor<i1>
        %19 = stablehlo.select %14, %arg2, %arg4 : tensor<i1>, tensor<f32>
        %20 = stablehlo.select %18, %arg3, %arg5 : tensor<i1>, tensor<i32>
        stablehlo.return %19, %20 : tensor<f32>, tensor<i32>
      }
      sdy.return %11#1 : tensor<8xi32>
    } : (tensor<8x16xf32>) -> tensor<8xi32>
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"X", ?}]> : tensor<8xi32>
    %2 = sdy.named_computation<"argmin">(%arg0) (%arg1: tensor<8x16xf32>) {
      %7 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
      %8 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xi32>
      %9 = sdy.constant dense<0x7F800000> : tensor<f32>
      %10 = sdy.constant dense<0> : tensor<i32>
      %11:2 = stablehlo.reduce(%7 init: %9), (%8 init: %10) across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"Y", ?}]>, <@mesh, [{"Y", ?}]>]>} : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<16xf32>, tensor<16xi32>)
       reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<i32>, %arg5: tensor<i32>)  {
        %12 = stablehlo.compare LT, %arg2, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %13 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %14 = stablehlo.or %12, %13 : tensor<i1>
        %15 = stablehlo.compare EQ, %arg2, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %16 = stablehlo.compare LT, %arg3, %arg5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %17 = stablehlo.and %15, %16 : tensor<i1>
        %18 = stablehlo.or %14, %17 : tensor<i1>
        %19 = stablehlo.select %14, %arg2, %arg4 : tensor<i1>, tensor<f32>
        %20 = stablehlo.select %18, %arg3, %arg5 : tensor<i1>, tensor<i32>
        stablehlo.return %19, %20 : tensor<f32>, tensor<i32>
      }
      sdy.return %11#1 : tensor<16xi32>
    } : (tensor<8x16xf32>) -> tensor<16xi32>
    %3 = sdy.data_flow_edge %2 sharding=<@mesh, [{"Y", ?}]> : tensor<16xi32>
    %4 = stablehlo.reshape %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : (tensor<8x16xf32>) -> tensor<128xf32>
    %5 = sdy.named_computation<"argmax_0">(%4) (%arg1: tensor<128xf32>) {
      %7 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"X", ?}]> : tensor<128xf32>
      %8 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}]>]>} : tensor<128xi32>
      %9 = sdy.constant dense<0xFF800000> : tensor<f32>
      %10 = sdy.constant dense<0> : tensor<i32>
      %11:2 = stablehlo.reduce(%7 init: %9), (%8 init: %10) across dimensions = [0] : (tensor<128xf32>, tensor<128xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
       reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<i32>, %arg5: tensor<i32>)  {
        %12 = stablehlo.compare GT, %arg2, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %13 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %14 = stablehlo.or %12, %13 : tensor<i1>
        %15 = stablehlo.compare EQ, %arg2, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %16 = stablehlo.compare LT, %arg3, %arg5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %17 = stablehlo.and %15, %16 : tensor<i1>
        %18 = stablehlo.or %14, %17 : tensor<i1>
        %19 = stablehlo.select %14, %arg2, %arg4 : tensor<i1>, tensor<f32>
        %20 = stablehlo.select %18, %arg3, %arg5 : tensor<i1>, tensor<i32>
        stablehlo.return %19, %20 : tensor<f32>, tensor<i32>
      }
      sdy.return %11#1 : tensor<i32>
    } : (tensor<128xf32>) -> tensor<i32>
    %6 = sdy.data_flow_edge %5 : tensor<i32>
    return %1, %3, %6 : tensor<8xi32>, tensor<16xi32>, tensor<i32>
  }
}
