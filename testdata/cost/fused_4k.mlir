// calls: 1000
module {
 func.func public @main(%x: tensor<1024xf32>, %y: tensor<1024xf32>) -> tensor<1024xf32> {
  %0 = stablehlo.add %x, %y : tensor<1024xf32>
  %1 = stablehlo.exponential %0 : tensor<1024xf32>
  %2 = stablehlo.multiply %1, %y : tensor<1024xf32>
  return %2 : tensor<1024xf32>
 }
}
