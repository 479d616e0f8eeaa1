// A layout over a second mesh of the same devices is written over the main one.
sdy.mesh @a = <["x"=2, "y"=2]>
sdy.mesh @b = <["z"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@b, [{"z"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @a = <["x"=2, "y"=2]>
  sdy.mesh @b = <["z"=4]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@a, [{"x", "y"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
