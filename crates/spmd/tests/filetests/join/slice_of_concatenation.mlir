// A periodic padding of which two parts are taken: each is a roll.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %a [15:16] : (tensor<16xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %a [0:1] : (tensor<16xf32>) -> tensor<1xf32>
  %2 = stablehlo.concatenate %0, %a, %1, dim = 0 : (tensor<1xf32>, tensor<16xf32>, tensor<1xf32>) -> tensor<18xf32>
  %3 = stablehlo.slice %2 [0:16] : (tensor<18xf32>) -> tensor<16xf32>
  %4 = stablehlo.slice %2 [2:18] : (tensor<18xf32>) -> tensor<16xf32>
  %5 = stablehlo.add %3, %4 : tensor<16xf32>
  return %5 : tensor<16xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.slice %arg0 [15:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<1xf32>
    %1 = stablehlo.slice %arg0 [0:1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<1xf32>
    %2 = stablehlo.concatenate %0, %arg0, %1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<1xf32>, tensor<16xf32>, tensor<1xf32>) -> tensor<18xf32>
    %3 = stablehlo.slice %2 [0:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<18xf32>) -> tensor<16xf32>
    %4 = stablehlo.slice %2 [2:18] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<18xf32>) -> tensor<16xf32>
    %5 = stablehlo.add %3, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : tensor<16xf32>
    return %5 : tensor<16xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = "shardwise.join"(%arg0) <{dimension = 0 : i64, parts = array<i64: 0, 15, 1, 0, 0, 15>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<16xf32>
    %1 = "shardwise.join"(%arg0) <{dimension = 0 : i64, parts = array<i64: 0, 1, 15, 0, 0, 1>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<16xf32>
    %2 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : tensor<16xf32>
    return %2 : tensor<16xf32>
  }
}
