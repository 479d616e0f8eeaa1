// runs
// The module starts on the line of an alias.
#x = 1 : i32 module attributes {foo.a = #x} { func.func @main() -> tensor<i32> {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  return %0 : tensor<i32> } }
