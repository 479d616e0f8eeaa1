// runs
// The top 0 of 10^12 lines without elements loops for hours, and takes no steps of the budget.
func.func @main(%x: tensor<1000000000000x0xf32>) -> (tensor<1000000000000x0xf32>, tensor<1000000000000x0xi32>) {
  %0:2 = chlo.top_k(%x, k = 0) : tensor<1000000000000x0xf32> -> (tensor<1000000000000x0xf32>, tensor<1000000000000x0xi32>)
  return %0#0, %0#1 : tensor<1000000000000x0xf32>, tensor<1000000000000x0xi32>
}
