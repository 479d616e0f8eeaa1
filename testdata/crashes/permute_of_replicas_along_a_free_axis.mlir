// refused
// A permute without a channel moves data along "y", which is not manual.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<2xi32>) {
  %1 = "stablehlo.collective_permute"(%p) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
  sdy.return %1 : tensor<2xi32>
  } : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
