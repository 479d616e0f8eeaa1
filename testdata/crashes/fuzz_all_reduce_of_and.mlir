// runs
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%x: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8xi32>, tensor<8xi32>) {
  %0 = stablehlo.constant dense<-1> : tensor<i32>
  %1 = stablehlo.reduce(%x init: %0) applies stablehlo.and across dimensions = [1] : (tensor<8x16xi32>, tensor<i32>) -> tensor<8xi32>
  %2 = stablehlo.constant dense<1> : tensor<i32>
  %3 = stablehlo.reduce(%x init: %2) applies stablehlo.multiply across dimensions = [1] : (tensor<8x16xi32>, tensor<i32>) -> tensor<8xi32>
  return %1, %3 : tensor<8xi32>, tensor<8xi32>
}
