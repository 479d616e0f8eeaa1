// refused
sdy.mesh @mesh = <["x"=3]>
func.func @main(%a: tensor<6x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<1xf32>) -> tensor<1xf32> {
  sdy.sharding_group %a group_id=0 : tensor<6x3xf32>
  %0 = stablehlo.negate %b : tensor<1xf32>
  sdy.sharding_group %0 group_id=0 : tensor<1xf32>
  return %0 : tensor<1xf32>
}
