// run: sdy-basic-propagate{debug-sharding-origins=true}
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ---- expected
