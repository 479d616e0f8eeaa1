// runs
// Sorting 10^12 lines without elements loops for hours, and takes no steps of the budget.
func.func @main(%x: tensor<1000000000000x0xf32>) -> tensor<1000000000000x0xf32> {
  %r = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<1000000000000x0xf32>) -> tensor<1000000000000x0xf32>
  return %r : tensor<1000000000000x0xf32>
}
