// refused
func.func @main(%a: tensor<6x4xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}) -> tensor<6x4xf32> {
  %0 = stablehlo.abs %a {mhlo.sharding} : tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
