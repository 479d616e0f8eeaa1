// runs
// Aliases of an element type and of the type of a function.
!e = f32
!f = (tensor<4x!e>) -> tensor<4x!e>
func.func @main(%a: tensor<4x!e>) -> tensor<4x!e> {
  %0 = "stablehlo.add"(%a, %a) {foo.t = !f} : (tensor<4x!e>, tensor<4x!e>) -> tensor<4x!e>
  return %0 : tensor<4x!e>
}
