func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[4]<=[2]}"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
error[gspmd-sharding]: `{devices=[4]<=[2]}` is no sharding: expected as many devices as the grid has positions at byte 17
  --> test.mlir:2:3
   = help: write `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`, `{replicated}` or `{maximal device=0}`
