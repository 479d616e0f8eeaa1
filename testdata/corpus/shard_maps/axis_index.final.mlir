module @jit_axis_index attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=2, "Y"=4]> {stablehlo.mesh = {axes = [{name = "X", size = 2 : i64}, {name = "Y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) -> (tensor<8x8xi32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"X"}, {"Y"}]>] out_shardings=[<@mesh, [{"X"}, {"Y"}]>] manual_axes={"X", "Y"} (%arg1: tensor<4x2xi32>) {
      %1 = sdy.constant dense<4> : tensor<ui32>
      %2 = sdy.constant dense<2> : tensor<ui32>
      %3 = stablehlo.partition_id : tensor<ui32>
      %4 = stablehlo.divide %3, %1 : tensor<ui32>
      %5 = stablehlo.remainder %4, %2 : tensor<ui32>
      %6 = stablehlo.convert %5 : (tensor<ui32>) -> tensor<i32>
      %7 = sdy.constant dense<100> : tensor<i32>
      %8 = stablehlo.multiply %7, %6 : tensor<i32>
      %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
      %10 = stablehlo.add %arg1, %9 : tensor<4x2xi32>
      %11 = sdy.constant dense<1> : tensor<ui32>
      %12 = stablehlo.partition_id : tensor<ui32>
      %13 = stablehlo.divide %12, %11 : tensor<ui32>
      %14 = stablehlo.remainder %13, %1 : tensor<ui32>
      %15 = stablehlo.convert %14 : (tensor<ui32>) -> tensor<i32>
      %16 = sdy.constant dense<10> : tensor<i32>
      %17 = stablehlo.multiply %16, %15 : tensor<i32>
      %18 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
      %19 = stablehlo.add %10, %18 : tensor<4x2xi32>
      %20 = sdy.constant dense<4> : tensor<i32>
      %21 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<i32>) -> tensor<4x2xi32>
      %22 = stablehlo.add %19, %21 : tensor<4x2xi32>
      sdy.return %22 : tensor<4x2xi32>
    } : (tensor<8x8xi32>) -> tensor<8x8xi32>
    return %0 : tensor<8x8xi32>
  }
}
