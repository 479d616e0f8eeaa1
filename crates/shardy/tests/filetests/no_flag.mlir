// run: sdy-basic-propagate{conservative-propagation=maybe}
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ---- expected
error[pass-option]: option `conservative-propagation` of `sdy-basic-propagate` is `maybe`, which is no boolean
   = help: write `true` or `false`
