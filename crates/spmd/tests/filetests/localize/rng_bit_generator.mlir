// Each device draws the bits of its part.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %state, %bits = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
  return %state, %bits : tensor<2xui64>, tensor<8xui32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<2xui64> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<2xui64> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0:2 = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"x"}]>]>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    return %0#0, %0#1 : tensor<2xui64>, tensor<8xui32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<2xui64> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, shardwise.global_type = tensor<2xui64>}) -> (tensor<2xui64> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, shardwise.global_type = tensor<2xui64>}, tensor<4xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<8xui32>}) {
    %0:2 = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    %1 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %2 = stablehlo.constant dense<4> : tensor<i32>
    %3 = stablehlo.multiply %1, %2 : tensor<i32>
    %4 = stablehlo.dynamic_slice %0#1, %3, sizes = [4] : (tensor<8xui32>, tensor<i32>) -> tensor<4xui32>
    return %0#0, %4 : tensor<2xui64>, tensor<4xui32>
  }
}
