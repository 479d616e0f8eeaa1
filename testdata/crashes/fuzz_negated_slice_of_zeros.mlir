// runs
// The slice is a copy of one device's element. Its negation is -0.
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%a: tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %zeros = stablehlo.constant dense<0.0> : tensor<24xf32>
  %0 = stablehlo.abs %a : tensor<24xf32>
  %1 = stablehlo.multiply %0, %zeros : tensor<24xf32>
  %2 = stablehlo.slice %1 [0:1] : (tensor<24xf32>) -> tensor<1xf32>
  %3 = stablehlo.negate %2 : tensor<1xf32>
  return %3 : tensor<1xf32>
}
