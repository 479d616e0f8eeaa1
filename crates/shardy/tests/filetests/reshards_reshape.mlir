// run: sdy-insert-explicit-reshards{enable-full-version=true}
// "z" does not fit the first factor of the merged dimension.
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"z"}]>}) -> tensor<24xf32> {
  %0 = stablehlo.reshape %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z", "x"}]>]>} : (tensor<4x6xf32>) -> tensor<24xf32>
  return %0 : tensor<24xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
  func.func @main(%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"z"}]>}) -> tensor<24xf32> {
    %0 = sdy.reshard %arg0 <@mesh, [{"x"}, {}]> : tensor<4x6xf32>
    %1 = stablehlo.reshape %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<4x6xf32>) -> tensor<24xf32>
    %2 = sdy.reshard %1 <@mesh, [{"z", "x"}]> : tensor<24xf32>
    %3 = sdy.reshard %2 <@mesh, [{}]> : tensor<24xf32>
    return %3 : tensor<24xf32>
  }
}
