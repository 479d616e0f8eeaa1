// refused
// The results do not have the ranks of JAX's function.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %b: tensor<4xi32>, %c: tensor<f32>, %d: tensor<i32>) -> tensor<4x3x3xf32> {
  %0:2 = stablehlo.custom_call @ApproxTopK(%a, %b, %c, %d) : (tensor<4x3x3xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3x3xf32>, tensor<4xi32>)
  return %0#0 : tensor<4x3x3xf32>
}
