module @jit_collective_matmul attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=2, "Y"=4]> {stablehlo.mesh = {axes = [{name = "X", size = 2 : i64}, {name = "Y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<16x32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, %arg1: tensor<32x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}) -> (tensor<16x64xi32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"X"}, {"Y"}]>, <@mesh, [{}, {"Y"}]>] out_shardings=[<@mesh, [{"X"}, {"Y"}]>] manual_axes={"X", "Y"} (%arg2: tensor<8x8xi32>, %arg3: tensor<32x16xi32>) {
      %1 = sdy.constant dense<1> : tensor<ui32>
      %2 = sdy.constant dense<4> : tensor<ui32>
      %3 = stablehlo.partition_id : tensor<ui32>
      %4 = stablehlo.divide %3, %1 : tensor<ui32>
      %5 = stablehlo.remainder %4, %2 : tensor<ui32>
      %6 = stablehlo.convert %5 : (tensor<ui32>) -> tensor<i32>
      %7 = sdy.constant dense<0> : tensor<i32>
      %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<i32>) -> tensor<8x16xi32>
      %9:3 = func.call @closed_call(%6, %arg3, %7, %8, %arg2) : (tensor<i32>, tensor<32x16xi32>, tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>)
      %10:3 = func.call @closed_call(%6, %arg3, %9#0, %9#1, %9#2) : (tensor<i32>, tensor<32x16xi32>, tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>)
      %11:3 = func.call @closed_call(%6, %arg3, %10#0, %10#1, %10#2) : (tensor<i32>, tensor<32x16xi32>, tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>)
      %12 = sdy.constant dense<3> : tensor<i32>
      %13 = stablehlo.add %6, %12 : tensor<i32>
      %14 = sdy.constant dense<4> : tensor<i32>
      %15 = func.call @remainder_7(%13, %14) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %16 = sdy.constant dense<8> : tensor<i32>
      %17 = stablehlo.multiply %15, %16 : tensor<i32>
      %18 = stablehlo.compare LT, %17, %7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %19 = sdy.constant dense<32> : tensor<i32>
      %20 = stablehlo.add %17, %19 : tensor<i32>
      %21 = stablehlo.select %18, %20, %17 : tensor<i1>, tensor<i32>
      %22 = stablehlo.dynamic_slice %arg3, %21, %7, sizes = [8, 16] : (tensor<32x16xi32>, tensor<i32>, tensor<i32>) -> tensor<8x16xi32>
      %23 = stablehlo.dot_general %11#2, %22, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
      %24 = stablehlo.add %11#1, %23 : tensor<8x16xi32>
      sdy.return %24 : tensor<8x16xi32>
    } : (tensor<16x32xi32>, tensor<32x64xi32>) -> tensor<16x64xi32>
    return %0 : tensor<16x64xi32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @closed_call(%arg0: tensor<i32>, %arg1: tensor<32x16xi32>, %arg2: tensor<i32>, %arg3: tensor<8x16xi32>, %arg4: tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) {
    %0 = sdy.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %arg2, %0 : tensor<i32>
    %2 = "stablehlo.collective_permute"(%arg4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2], [4, 7], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %3 = stablehlo.convert %arg2 : tensor<i32>
    %4 = stablehlo.add %arg0, %3 : tensor<i32>
    %5 = sdy.constant dense<4> : tensor<i32>
    %6 = call @remainder_7(%4, %5) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %7 = sdy.constant dense<8> : tensor<i32>
    %8 = stablehlo.multiply %6, %7 : tensor<i32>
    %9 = sdy.constant dense<0> : tensor<i32>
    %10 = stablehlo.compare LT, %8, %9, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %11 = sdy.constant dense<32> : tensor<i32>
    %12 = stablehlo.add %8, %11 : tensor<i32>
    %13 = stablehlo.select %10, %12, %8 : tensor<i1>, tensor<i32>
    %14 = stablehlo.dynamic_slice %arg1, %13, %9, sizes = [8, 16] : (tensor<32x16xi32>, tensor<i32>, tensor<i32>) -> tensor<8x16xi32>
    %15 = stablehlo.dot_general %arg4, %14, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
    %16 = stablehlo.add %arg3, %15 : tensor<8x16xi32>
    return %1, %16, %2 : tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>
  }
  func.func private @remainder_7(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = sdy.constant dense<0> : tensor<i32>
    %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = sdy.constant dense<1> : tensor<i32>
    %4 = call @_where(%2, %3, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %5 = stablehlo.remainder %arg0, %4 : tensor<i32>
    %6 = stablehlo.compare NE, %5, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.compare LT, %5, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %8 = stablehlo.compare LT, %4, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9 = stablehlo.compare NE, %7, %8, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %10 = stablehlo.and %9, %6 : tensor<i1>
    %11 = stablehlo.add %5, %4 : tensor<i32>
    %12 = stablehlo.select %10, %11, %5 : tensor<i1>, tensor<i32>
    return %12 : tensor<i32>
  }
}
