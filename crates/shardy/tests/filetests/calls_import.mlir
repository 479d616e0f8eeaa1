// run: sdy-flatten-call-graph,symbol-dce,sdy-import-func-calls
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = call @f(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = call @f(%b) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = call @f(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
func.func private @f(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = call @g(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func private @g(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.exponential %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
    %0 = sdy.named_computation<"f">(%arg0) (%arg2: tensor<8x4xf32>) {
      %6 = sdy.data_flow_edge %arg2 : tensor<8x4xf32>
      %7 = sdy.named_computation<"g">(%6) (%arg3: tensor<8x4xf32>) {
        %9 = sdy.data_flow_edge %arg3 : tensor<8x4xf32>
        %10 = stablehlo.exponential %9 : tensor<8x4xf32>
        sdy.return %10 : tensor<8x4xf32>
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %8 = sdy.data_flow_edge %7 : tensor<8x4xf32>
      sdy.return %8 : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = sdy.data_flow_edge %0 : tensor<8x4xf32>
    %2 = sdy.named_computation<"f">(%arg1) (%arg2: tensor<8x4xf32>) {
      %6 = sdy.data_flow_edge %arg2 : tensor<8x4xf32>
      %7 = sdy.named_computation<"g">(%6) (%arg3: tensor<8x4xf32>) {
        %9 = sdy.data_flow_edge %arg3 : tensor<8x4xf32>
        %10 = stablehlo.exponential %9 : tensor<8x4xf32>
        sdy.return %10 : tensor<8x4xf32>
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %8 = sdy.data_flow_edge %7 : tensor<8x4xf32>
      sdy.return %8 : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %3 = sdy.data_flow_edge %2 : tensor<8x4xf32>
    %4 = sdy.named_computation<"f">(%1) (%arg2: tensor<8x4xf32>) {
      %6 = sdy.data_flow_edge %arg2 : tensor<8x4xf32>
      %7 = sdy.named_computation<"g">(%6) (%arg3: tensor<8x4xf32>) {
        %9 = sdy.data_flow_edge %arg3 : tensor<8x4xf32>
        %10 = stablehlo.exponential %9 : tensor<8x4xf32>
        sdy.return %10 : tensor<8x4xf32>
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %8 = sdy.data_flow_edge %7 : tensor<8x4xf32>
      sdy.return %8 : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %5 = sdy.data_flow_edge %4 : tensor<8x4xf32>
    return %1, %3, %5 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
}
