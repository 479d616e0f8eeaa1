// calls: 10
module {
 func.func public @main(%x: tensor<256x64xi32>) -> tensor<256x64xi32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
   %r = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
   stablehlo.return %r : tensor<i1>
  }) : (tensor<256x64xi32>) -> tensor<256x64xi32>
  return %0 : tensor<256x64xi32>
 }
}
