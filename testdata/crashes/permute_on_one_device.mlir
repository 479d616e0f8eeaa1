// runs
// In a program of one device the device sends to itself, and the host makes zeros of it.
func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
  %1 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<4xi32>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}
