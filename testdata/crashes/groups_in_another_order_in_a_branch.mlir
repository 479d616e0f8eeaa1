// runs
// Groups that are along "x" in another order complete on each side of a branch along "y", and the host refuses them.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a0: tensor<4xi32>) -> (tensor<8xi32>) {
  %m = sdy.manual_computation(%a0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x","y"}]>] manual_axes={"x", "y"} (%p0: tensor<2xi32>) {
    %n = shardwise.axis_index <@mesh, {"y"}> : tensor<i32>
    %w = "stablehlo.case"(%n) ({
      %u = "stablehlo.collective_broadcast"(%p0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[2, 0], [3, 1]]> : tensor<2x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
      stablehlo.return %u : tensor<2xi32>
    }, {
      stablehlo.return %p0 : tensor<2xi32>
    }) : (tensor<i32>) -> tensor<2xi32>
    sdy.return %w : tensor<2xi32>
  } : (tensor<4xi32>) -> (tensor<8xi32>)
  return %m : tensor<8xi32>
}
