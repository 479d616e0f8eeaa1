// run: sdy-basic-propagate{speed=high}
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ---- expected
error[pass-option]: `sdy-basic-propagate` has no option `speed`
   = help: its options are keep-sharding-rules, conservative-propagation, debug-sharding-origins, debug-propagation-edge-sharding
