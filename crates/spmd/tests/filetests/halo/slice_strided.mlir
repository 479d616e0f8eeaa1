// A stride that divides the blocks moves nothing.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<32x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = stablehlo.slice %a [1:32:2, 0:6] : (tensor<32x6xf32>) -> tensor<16x6xf32>
  return %0 : tensor<16x6xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<32x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = stablehlo.slice %arg0 [1:32:2, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : (tensor<32x6xf32>) -> tensor<16x6xf32>
    return %0 : tensor<16x6xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<32x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x"} (%arg1: tensor<8x6xf32>) {
      %1 = stablehlo.slice %arg1 [1:8, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : (tensor<8x6xf32>) -> tensor<7x6xf32>
      %2 = stablehlo.slice %1 [0:7:2, 0:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : (tensor<7x6xf32>) -> tensor<4x6xf32>
      sdy.return %2 : tensor<4x6xf32>
    } {shardwise.made} : (tensor<32x6xf32>) -> tensor<16x6xf32>
    return %0 : tensor<16x6xf32>
  }
}
