// run: sdy-add-data-flow-edges
// An edge keeps the axes of size 1 that a named computation declares.
sdy.mesh @mesh = <["x"=2, "y"=1]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.named_computation<"f">(%a) in_shardings=[<@mesh, [{"x", "y"}]>] (%b: tensor<8xf32>) {
    %1 = stablehlo.negate %b : tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=1]>
  func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.named_computation<"f">(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>] (%arg1: tensor<8xf32>) {
      %2 = sdy.data_flow_edge %arg1 sharding=<@mesh, [{"x", "y"}]> : tensor<8xf32>
      %3 = stablehlo.negate %2 : tensor<8xf32>
      sdy.return %3 : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    %1 = sdy.data_flow_edge %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
