// The operand and the result are split unevenly.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<19x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<17x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [2:19, 0:4] : (tensor<19x4xf32>) -> tensor<17x4xf32>
  return %0 : tensor<17x4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<19x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<17x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.slice %arg0 [2:19, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<19x4xf32>) -> tensor<17x4xf32>
    return %0 : tensor<17x4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<19x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<17x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = "shardwise.resize"(%arg0) <{sizes = array<i64: 20, 4>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<19x4xf32>) -> tensor<20x4xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<5x4xf32>) {
      %3 = stablehlo.slice %arg1 [2:5, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<5x4xf32>) -> tensor<3x4xf32>
      %4 = stablehlo.slice %arg1 [0:2, 0:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<5x4xf32>) -> tensor<2x4xf32>
      %5 = "stablehlo.collective_permute"(%4) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = -1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %6 = stablehlo.concatenate %3, %5, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
      sdy.return %6 : tensor<5x4xf32>
    } {shardwise.made} : (tensor<20x4xf32>) -> tensor<20x4xf32>
    %2 = "shardwise.resize"(%1) <{sizes = array<i64: 17, 4>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<20x4xf32>) -> tensor<17x4xf32>
    return %2 : tensor<17x4xf32>
  }
}
