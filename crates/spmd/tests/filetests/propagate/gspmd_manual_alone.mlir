func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{manual}"}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
// ---- expected
error[gspmd-manual]: the sharding `{manual}` can only be on the custom calls `@SPMDFullToShardShape` and `@Sharding`
  --> test.mlir:1:1
   = help: export the program with Shardy's notation: `jax.config.update("jax_use_shardy_partitioner", True)`
