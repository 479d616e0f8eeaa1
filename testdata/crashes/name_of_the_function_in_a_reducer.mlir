// refused
// The region of an op that is not isolated redefines a name of the function around it.
func.func @main(%a: tensor<4xf32>, %x: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.reduce"(%a, %x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %z = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %z : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
