// runs
// A sum over the one process of a program without a mesh is the operand, and the host refuses it.
func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
  %1 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> ({
    ^bb0(%b: tensor<i32>, %c: tensor<i32>):
      %s = stablehlo.add %b, %c : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<4xi32>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}
