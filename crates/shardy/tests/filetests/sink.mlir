// run: sdy-sink-data-flow-edges
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0:2 = stablehlo.optimization_barrier %a, %b : tensor<8xf32>, tensor<8xf32>
  %1 = sdy.data_flow_edge %0#0 sharding=<@mesh, [{"x"}]> : tensor<8xf32>
  %2 = sdy.data_flow_edge %0#1 : tensor<8xf32>
  %3 = stablehlo.add %1, %2 : tensor<8xf32>
  return %3 : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %0:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{?}]>]>} %arg0, %arg1 : tensor<8xf32>, tensor<8xf32>
    %1 = stablehlo.add %0#0, %0#1 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
