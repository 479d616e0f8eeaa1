// runs
// Groups over "x" with equal operands have different roots along "y", and the host gives all of them the result of the first group.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a0: tensor<4xf32>) -> (tensor<4xf32>) {
  %m = sdy.manual_computation(%a0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"x", "y"} (%p0: tensor<2xf32>) {
    %i = shardwise.axis_index <@mesh, {"y"}> : tensor<i32>
    %root = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
    %v = "stablehlo.collective_broadcast"(%p0, %root) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2],[1, 3]]> : tensor<2x2xi64>, has_dynamic_root}> : (tensor<2xf32>, tensor<1xi32>) -> tensor<2xf32>
    sdy.return %v : tensor<2xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>)
  return %m : tensor<4xf32>
}
