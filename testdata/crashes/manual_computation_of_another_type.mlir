// The body of a manual computation takes floats where integers go in.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<4xi64>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<2xf32>) {
    %1 = stablehlo.add %arg1, %arg1 : tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
