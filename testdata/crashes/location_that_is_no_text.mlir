// runs
// The name of a file is not UTF-8.
func.func @main(%a: tensor<i32>) -> tensor<i32> {
  return %a : tensor<i32> loc("caf\E9.py":1:1)
}
