// runs
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8x4xi8>) -> tensor<4x4xi32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: tensor<4x4xi8>) {
    %1 = "stablehlo.reduce_scatter"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
    }) : (tensor<4x4xi8>) -> tensor<2x4xi32>
    sdy.return %1 : tensor<2x4xi32>
  } : (tensor<8x4xi8>) -> tensor<4x4xi32>
  return %0 : tensor<4x4xi32>
}
