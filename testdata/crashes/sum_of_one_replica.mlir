// runs
// Without a channel the group is of replica 0 on each device, so the sum is the operand; the host makes zeros on all devices but device 0.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a0: tensor<4xi32>) -> (tensor<4xi32>) {
  %m = sdy.manual_computation(%a0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p0: tensor<2xi32>) {
    %r = "stablehlo.all_reduce"(%p0) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%b: tensor<i32>, %c: tensor<i32>):
      %s = stablehlo.add %b, %c : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    sdy.return %r : tensor<2xi32>
  } : (tensor<4xi32>) -> (tensor<4xi32>)
  return %m : tensor<4xi32>
}
