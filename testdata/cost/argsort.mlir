// calls: 5
module {
 func.func public @main(%x: tensor<4096xi32>) -> tensor<4096xi32> {
  %i = stablehlo.iota dim = 0 : tensor<4096xi32>
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
   %r = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
   stablehlo.return %r : tensor<i1>
  }) : (tensor<4096xi32>, tensor<4096xi32>) -> (tensor<4096xi32>, tensor<4096xi32>)
  return %0#1 : tensor<4096xi32>
 }
}
