// `custom_call @Sharding` is a constraint.
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["axis_0"=2]>
  func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"axis_0"}, {}]> : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
