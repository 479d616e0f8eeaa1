// refused
// The results do not have the ranks of JAX's function.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<4x3x3xf32> {
  %0:2 = stablehlo.custom_call @Eigh(%a) : (tensor<4x3x3xf32>) -> (tensor<4x3x3xf32>, tensor<f32>)
  return %0#0 : tensor<4x3x3xf32>
}
