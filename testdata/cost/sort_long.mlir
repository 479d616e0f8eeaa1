// calls: 5
module {
 func.func public @main(%x: tensor<16384xf32>) -> tensor<16384xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
   %r = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
   stablehlo.return %r : tensor<i1>
  }) : (tensor<16384xf32>) -> tensor<16384xf32>
  return %0 : tensor<16384xf32>
 }
}
