// refused
// A permute without a channel stands outside of any manual computation, and it names replica 1.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
  %1 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xi32>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}
