// Random bits are split evenly or not at all.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) {
  %state, %bits = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui32>)
  return %state, %bits : tensor<2xui64>, tensor<6xui32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) {
    %0:2 = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>, <@mesh, [{"x", "y", ?}]>]>, shardwise.no_sharding = array<i64: 0>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui32>)
    return %0#0, %0#1 : tensor<2xui64>, tensor<6xui32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<2xui64> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<2xui64> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<6xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) {
    %0:2 = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{}]>]>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui32>)
    %1 = sdy.reshard %0#1 <@mesh, [{"x", "y"}]> : tensor<6xui32>
    return %0#0, %1 : tensor<2xui64>, tensor<6xui32>
  }
}
