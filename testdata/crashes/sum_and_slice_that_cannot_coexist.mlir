// runs
// Parts of an axis of six devices, as 2 x 3 and as 3 x 2, cannot be in one layout.
sdy.mesh @m = <["x"=6]>
func.func @main(%a: tensor<4x6xi32> {sdy.sharding = #sdy.sharding<@m, [{}, {"x":(1)2}]>}) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@m, [{"x":(3)2}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x6xi32>, tensor<i32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
