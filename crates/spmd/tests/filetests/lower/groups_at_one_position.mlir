// The groups name the devices at one position along "x" alone, which is not a manual axis.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"y"} (%b: tensor<4xf32>) {
    %1 = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "stablehlo.collective_broadcast"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %2 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
error[collective-axes]: `stablehlo.collective_permute` does not do the same at every position along axes that are not manual there: "x"
  --> test.mlir:5:5
   = mesh: x=2, y=2
   = help: name the same groups at every position along these axes, or add them to `manual_axes` of the `sdy.manual_computation`
error[collective-axes]: `stablehlo.collective_broadcast` does not do the same at every position along axes that are not manual there: "x"
  --> test.mlir:6:5
   = mesh: x=2, y=2
   = help: name the same groups at every position along these axes, or add them to `manual_axes` of the `sdy.manual_computation`
