// A constraint on what a loop gives binds its later uses, not the loop.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0:2 = stablehlo.optimization_barrier %a, %a : tensor<8x8xf32>, tensor<8x8xf32>
  %1 = stablehlo.tanh %0#0 : tensor<8x8xf32>
  %2 = sdy.sharding_constraint %0#0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %3 = stablehlo.add %2, %0#1 : tensor<8x8xf32>
  return %1, %3 : tensor<8x8xf32>, tensor<8x8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}) {
    %0:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>, <@mesh, [{"x", ?}, {?}]>]>} %arg0, %arg0 : tensor<8x8xf32>, tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0#0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    %2 = stablehlo.tanh %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<8x8xf32>
    %3 = stablehlo.add %1, %0#1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<8x8xf32>
    return %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>
  }
}
