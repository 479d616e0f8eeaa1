// runs
// An empty list of groups means all devices, in the order of their numbers, which is not the order of the mesh.
sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[1, 0, 2, 3]>
func.func @main(%a: tensor<8xi32>) -> tensor<8xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x", "y"} (%p: tensor<2xi32>) {
    %1 = "stablehlo.all_gather"(%p) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<0x0xi64>}> : (tensor<2xi32>) -> tensor<8xi32>
    sdy.return %1 : tensor<8xi32>
  } : (tensor<8xi32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
