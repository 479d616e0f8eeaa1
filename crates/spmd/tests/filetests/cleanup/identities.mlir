// Ops that change nothing are their operands.
func.func @main(%a: tensor<4x2xi32>, %p: tensor<4x2xi1>) -> (tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>) {
  %0 = stablehlo.transpose %a, dims = [0, 1] : (tensor<4x2xi32>) -> tensor<4x2xi32>
  %1 = stablehlo.slice %a [0:4, 0:2] : (tensor<4x2xi32>) -> tensor<4x2xi32>
  %2 = stablehlo.convert %a : (tensor<4x2xi32>) -> tensor<4x2xi64>
  %3 = stablehlo.convert %2 : (tensor<4x2xi64>) -> tensor<4x2xi32>
  %4 = stablehlo.concatenate %a, dim = 0 : (tensor<4x2xi32>) -> tensor<4x2xi32>
  %5 = stablehlo.select %p, %a, %a : tensor<4x2xi1>, tensor<4x2xi32>
  return %0, %1, %3, %4, %5 : tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>
}
// ---- expected
module {
  func.func public @main(%arg0: tensor<4x2xi32>, %arg1: tensor<4x2xi1>) -> (tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>) {
    return %arg0, %arg0, %arg0, %arg0, %arg0 : tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>
  }
}
