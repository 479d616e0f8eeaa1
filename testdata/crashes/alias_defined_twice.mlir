// refused
// An alias has two definitions.
#x = dense<1> : tensor<i32>
#x = dense<2> : tensor<i32>
func.func @main() -> tensor<i32> {
  %0 = "stablehlo.constant"() <{value = #x}> : () -> tensor<i32>
  return %0 : tensor<i32>
}
