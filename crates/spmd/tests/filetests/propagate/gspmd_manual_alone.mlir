func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{manual}"}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ---- expected
error[gspmd-manual]: a sharding in XLA's older notation is manual here, and no per-device region is
  --> test.mlir:1:1
   = help: export the program with Shardy's: `jax.config.update("jax_use_shardy_partitioner", True)`
