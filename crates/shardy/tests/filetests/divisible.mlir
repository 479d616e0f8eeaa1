// run: sdy-update-non-divisible-input-output-shardings,sdy-remove-sub-axes-in-input-output-shardings
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @main(%a: tensor<6x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}, {"z", "x"}]>}) -> (tensor<6x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  return %a : tensor<6x9xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
  func.func @main(%arg0: tensor<6x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"z"}]>}) -> (tensor<6x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(1)2}, {}]>}) {
    return %arg0 : tensor<6x9xf32>
  }
}
