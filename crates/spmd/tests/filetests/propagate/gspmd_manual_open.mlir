func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// ---- expected
error[gspmd-manual]: a per-device region in XLA's older notation does not end before its function returns
  --> test.mlir:3:3
   = help: export the program with Shardy's notation: `jax.config.update("jax_use_shardy_partitioner", True)`
