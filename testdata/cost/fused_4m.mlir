// calls: 10
module {
 func.func public @main(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>) -> tensor<1048576xf32> {
  %0 = stablehlo.add %x, %y : tensor<1048576xf32>
  %1 = stablehlo.tanh %0 : tensor<1048576xf32>
  %2 = stablehlo.multiply %1, %y : tensor<1048576xf32>
  %3 = stablehlo.maximum %2, %x : tensor<1048576xf32>
  return %3 : tensor<1048576xf32>
 }
}
