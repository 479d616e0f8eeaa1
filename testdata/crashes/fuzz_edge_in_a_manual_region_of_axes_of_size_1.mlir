// runs
sdy.mesh @mesh = <["x"=1]>
func.func public @main(%a: tensor<5x3x2xf32>) -> tensor<5x3x2xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}, {}]>] manual_axes={"x"} (%b: tensor<5x3x2xf32>) {
    %1 = sdy.data_flow_edge %b : tensor<5x3x2xf32>
    sdy.return %b : tensor<5x3x2xf32>
  } : (tensor<5x3x2xf32>) -> tensor<5x3x2xf32>
  return %0 : tensor<5x3x2xf32>
}
