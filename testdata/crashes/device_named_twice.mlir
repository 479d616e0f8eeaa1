// refused
// A list of devices in the older notation names each device of the program exactly once, and this one names two devices twice.
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]0,0,1,1 last_tile_dim_replicate}"}) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
