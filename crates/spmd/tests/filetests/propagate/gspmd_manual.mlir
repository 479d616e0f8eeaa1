func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// ---- expected
error[gspmd-manual]: per-device regions in XLA's older notation are not supported
  --> test.mlir:2:3
   = help: export the program with Shardy's: `jax.config.update("jax_use_shardy_partitioner", True)`
