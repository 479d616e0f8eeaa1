// runs
// With a channel and without use_global_device_ids the group [0] is replica 0 with all its partitions, so for [1, 2, 10, 20] the sum is [11, 22] and equal along "x"; both engines leave [1, 2] and warn.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xi32>) -> tensor<2xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%p: tensor<2xi32>) {
    %1 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0]]> : tensor<1x1xi64>}> ({
    ^bb0(%b: tensor<i32>, %c: tensor<i32>):
      %s = stablehlo.add %b, %c : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    sdy.return %1 : tensor<2xi32>
  } : (tensor<4xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
