module @jit_axis_index attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=2, "Y"=4]> {stablehlo.mesh = {axes = [{name = "X", size = 2 : i64}, {name = "Y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<8x8xi32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"X"}, {"Y"}]>] out_shardings=[<@mesh, [{"X"}, {"Y"}]>] manual_axes={"X", "Y"} (%arg1: tensor<4x2xi32>) {
      %2 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{}, {}]> : tensor<4x2xi32>
      %3 = sdy.constant dense<4> : tensor<ui32>
      %4 = sdy.constant dense<2> : tensor<ui32>
      %5 = stablehlo.partition_id : tensor<ui32>
      %6 = stablehlo.divide %5, %3 : tensor<ui32>
      %7 = stablehlo.remainder %6, %4 : tensor<ui32>
      %8 = stablehlo.convert %7 : (tensor<ui32>) -> tensor<i32>
      %9 = sdy.constant dense<100> : tensor<i32>
      %10 = stablehlo.multiply %9, %8 : tensor<i32>
      %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
      %12 = stablehlo.add %2, %11 : tensor<4x2xi32>
      %13 = sdy.constant dense<1> : tensor<ui32>
      %14 = sdy.constant dense<4> : tensor<ui32>
      %15 = stablehlo.partition_id : tensor<ui32>
      %16 = stablehlo.divide %15, %13 : tensor<ui32>
      %17 = stablehlo.remainder %16, %14 : tensor<ui32>
      %18 = stablehlo.convert %17 : (tensor<ui32>) -> tensor<i32>
      %19 = sdy.constant dense<10> : tensor<i32>
      %20 = stablehlo.multiply %19, %18 : tensor<i32>
      %21 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
      %22 = stablehlo.add %12, %21 : tensor<4x2xi32>
      %23 = sdy.constant dense<4> : tensor<i32>
      %24 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
      %25 = stablehlo.add %22, %24 : tensor<4x2xi32>
      sdy.return %25 : tensor<4x2xi32>
    } : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"X"}, {"Y"}]> : tensor<8x8xi32>
    return %1 : tensor<8x8xi32>
  }
}
