// A sharding over a mesh of one device has no dimensions, its tensor has.
sdy.mesh @one = <[], device_ids=[0]>
func.func @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) {
  %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
