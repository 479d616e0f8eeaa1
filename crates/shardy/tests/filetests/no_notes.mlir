// run: sdy-basic-propagate{debug-sharding-origins=true}
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ---- expected
error[pass-option]: `sdy-basic-propagate` does not note where shardings come from: `debug-sharding-origins` can only be false
   = help: `shardwise explain` says why data moves and what asked for it
