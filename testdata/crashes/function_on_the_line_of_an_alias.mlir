// runs
// A function starts on the line of an alias.
!t = tensor<i32> func.func private @f(%a: !t) -> !t { return %a : !t }
func.func @main() -> tensor<i32> {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  return %0 : tensor<i32>
}
