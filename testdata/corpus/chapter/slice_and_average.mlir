module @jit_slice_and_average attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<512xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) -> (tensor<4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x", "y"} (%arg1: tensor<64xi32>) {
      %1 = stablehlo.slice %arg1 [0:4] : (tensor<64xi32>) -> tensor<4xi32>
      %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
        %6 = stablehlo.add %arg2, %arg3 : tensor<i32>
        stablehlo.return %6 : tensor<i32>
      }) : (tensor<4xi32>) -> tensor<4xi32>
      %3 = stablehlo.convert %2 : (tensor<4xi32>) -> tensor<4xf32>
      %cst = stablehlo.constant dense<8.000000e+00> : tensor<f32>
      %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %5 = stablehlo.divide %3, %4 : tensor<4xf32>
      sdy.return %5 : tensor<4xf32>
    } : (tensor<512xi32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
