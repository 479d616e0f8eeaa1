// run: sdy-propagation-pipeline
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"z"}]>}) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<8x8xf32>
  %0 = stablehlo.add %a, %c : tensor<8x8xf32>
  %1 = stablehlo.multiply %0, %c : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{}, {}]> : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
  func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"z"}]>]>} dense<2.000000e+00> : tensor<8x8xf32>
    %1 = sdy.constant dense<2.000000e+00> : tensor<8x8xf32>
    %2 = stablehlo.add %arg0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"z"}]>]>} : tensor<8x8xf32>
    %3 = stablehlo.multiply %2, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<8x8xf32>
    %4 = sdy.reshard %3 <@mesh, [{}, {}]> : tensor<8x8xf32>
    return %4 : tensor<8x8xf32>
  }
}
