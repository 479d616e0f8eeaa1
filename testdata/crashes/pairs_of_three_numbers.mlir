// refused
// A row of source_target_pairs has three columns, of which -1 is ignored.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a0: tensor<8xi32>) -> (tensor<8xi32>) {
  %m = sdy.manual_computation(%a0) in_shardings=[<@mesh, [{"x","y"}]>] out_shardings=[<@mesh, [{"x","y"}]>] manual_axes={"x", "y"} (%p0: tensor<2xi32>) {
    %r = "stablehlo.collective_permute"(%p0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0,1,-1]]> : tensor<1x3xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
    sdy.return %r : tensor<2xi32>
  } : (tensor<8xi32>) -> (tensor<8xi32>)
  return %m : tensor<8xi32>
}
