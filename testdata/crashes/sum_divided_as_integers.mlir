// runs
// An integer division of an unreduced numerator divides each summand: 2 instead of 3 with arguments [dense<[3, 3]> : tensor<2xi32>].
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<2xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<1xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.reshape %a : (tensor<2xi32>) -> tensor<1x2xi32>
  %0 = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}], unreduced={"x"}>]>} : (tensor<1x2xi32>, tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.constant dense<2> : tensor<1xi32>
  %1 = stablehlo.divide %0, %2 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}], unreduced={"x"}>]>} : tensor<1xi32>
  return %1 : tensor<1xi32>
}
