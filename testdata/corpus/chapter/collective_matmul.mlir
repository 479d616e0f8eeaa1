module @jit_collective_matmul attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=2, "Y"=4]> {stablehlo.mesh = {axes = [{name = "X", size = 2 : i64}, {name = "Y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<16x32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, %arg1: tensor<32x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}) -> (tensor<16x64xi32> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"X"}, {"Y"}]>, <@mesh, [{}, {"Y"}]>] out_shardings=[<@mesh, [{"X"}, {"Y"}]>] manual_axes={"X", "Y"} (%arg2: tensor<8x8xi32>, %arg3: tensor<32x16xi32>) {
      %c = stablehlo.constant dense<1> : tensor<ui32>
      %c_0 = stablehlo.constant dense<4> : tensor<ui32>
      %1 = stablehlo.partition_id : tensor<ui32>
      %2 = stablehlo.divide %1, %c : tensor<ui32>
      %3 = stablehlo.remainder %2, %c_0 : tensor<ui32>
      %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i32>
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<8x16xi32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %6:3 = func.call @closed_call(%4, %arg3, %c_2, %5, %arg2) : (tensor<i32>, tensor<32x16xi32>, tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>)
      %7:3 = func.call @closed_call(%4, %arg3, %6#0, %6#1, %6#2) : (tensor<i32>, tensor<32x16xi32>, tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>)
      %8:3 = func.call @closed_call(%4, %arg3, %7#0, %7#1, %7#2) : (tensor<i32>, tensor<32x16xi32>, tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>)
      %c_3 = stablehlo.constant dense<3> : tensor<i32>
      %9 = stablehlo.add %4, %c_3 : tensor<i32>
      %c_4 = stablehlo.constant dense<4> : tensor<i32>
      %10 = func.call @remainder(%9, %c_4) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %c_5 = stablehlo.constant dense<8> : tensor<i32>
      %11 = stablehlo.multiply %10, %c_5 : tensor<i32>
      %c_6 = stablehlo.constant dense<0> : tensor<i32>
      %12 = stablehlo.compare LT, %11, %c_6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %c_7 = stablehlo.constant dense<32> : tensor<i32>
      %13 = stablehlo.add %11, %c_7 : tensor<i32>
      %14 = stablehlo.select %12, %13, %11 : tensor<i1>, tensor<i32>
      %c_8 = stablehlo.constant dense<0> : tensor<i32>
      %15 = stablehlo.dynamic_slice %arg3, %14, %c_8, sizes = [8, 16] : (tensor<32x16xi32>, tensor<i32>, tensor<i32>) -> tensor<8x16xi32>
      %16 = stablehlo.dot_general %8#2, %15, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
      %17 = stablehlo.add %8#1, %16 : tensor<8x16xi32>
      sdy.return %17 : tensor<8x16xi32>
    } : (tensor<16x32xi32>, tensor<32x64xi32>) -> tensor<16x64xi32>
    return %0 : tensor<16x64xi32>
  }
  func.func private @closed_call(%arg0: tensor<i32>, %arg1: tensor<32x16xi32>, %arg2: tensor<i32>, %arg3: tensor<8x16xi32>, %arg4: tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg2, %c : tensor<i32>
    %1 = "stablehlo.collective_permute"(%arg4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2], [4, 7], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<8x8xi32>) -> tensor<8x8xi32>
    %2 = stablehlo.convert %arg2 : tensor<i32>
    %3 = stablehlo.add %arg0, %2 : tensor<i32>
    %c_0 = stablehlo.constant dense<4> : tensor<i32>
    %4 = call @remainder(%3, %c_0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %c_1 = stablehlo.constant dense<8> : tensor<i32>
    %5 = stablehlo.multiply %4, %c_1 : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.compare LT, %5, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_3 = stablehlo.constant dense<32> : tensor<i32>
    %7 = stablehlo.add %5, %c_3 : tensor<i32>
    %8 = stablehlo.select %6, %7, %5 : tensor<i1>, tensor<i32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.dynamic_slice %arg1, %8, %c_4, sizes = [8, 16] : (tensor<32x16xi32>, tensor<i32>, tensor<i32>) -> tensor<8x16xi32>
    %10 = stablehlo.dot_general %arg4, %9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
    %11 = stablehlo.add %arg3, %10 : tensor<8x16xi32>
    return %0, %11, %1 : tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>
  }
  func.func private @remainder(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.remainder %arg0, %2 : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.compare NE, %3, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.compare LT, %3, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.compare LT, %2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.compare NE, %5, %6, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %8 = stablehlo.and %7, %4 : tensor<i1>
    %9 = stablehlo.add %3, %2 : tensor<i32>
    %10 = stablehlo.select %8, %9, %3 : tensor<i1>, tensor<i32>
    return %10 : tensor<i32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
}
