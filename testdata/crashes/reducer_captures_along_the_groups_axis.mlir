// runs
// The reducer captures a value that differs within a group. All members use the value of the group's first device.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a0: tensor<4xi32>) -> (tensor<8xi32>) {
  %m = sdy.manual_computation(%a0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%p0: tensor<2xi32>) {
    %i = stablehlo.partition_id : tensor<ui32>
    %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>
    %v = "stablehlo.all_reduce"(%p0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[3, 0],[1, 2]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%b: tensor<i32>, %c: tensor<i32>):
      %s = stablehlo.add %b, %c : tensor<i32>
      %t = stablehlo.add %s, %j : tensor<i32>
      stablehlo.return %t : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    sdy.return %v : tensor<2xi32>
  } : (tensor<4xi32>) -> (tensor<8xi32>)
  return %m : tensor<8xi32>
}
