// refused
// With a channel and without use_global_device_ids the numbers are replicas, and there is no replica 1.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xi32>) -> tensor<2xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%p: tensor<2xi32>) {
    %r = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0,1]]> : tensor<1x2xi64>}> ({
    ^bb0(%b: tensor<i32>, %c: tensor<i32>):
      %s = stablehlo.add %b, %c : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    sdy.return %r : tensor<2xi32>
  } : (tensor<4xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
