// The main mesh has no axes for devices in this order, so the value is replicated.
sdy.mesh @a = <["x"=4]>
sdy.mesh @b = <["z"=4], device_ids=[0, 2, 3, 1]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@b, [{"z"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @a = <["x"=4]>
  sdy.mesh @b = <["z"=4], device_ids=[0, 2, 3, 1]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@a, [{}]>}) -> tensor<8xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
