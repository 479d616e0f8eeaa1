// Parts of several operands.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %a [3:8] : (tensor<16xf32>) -> tensor<5xf32>
  %1 = stablehlo.slice %a [12:15] : (tensor<16xf32>) -> tensor<3xf32>
  %2 = stablehlo.slice %b [1:8] : (tensor<8xf32>) -> tensor<7xf32>
  %3 = stablehlo.concatenate %0, %2, %1, dim = 0 : (tensor<5xf32>, tensor<7xf32>, tensor<3xf32>) -> tensor<15xf32>
  return %3 : tensor<15xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.slice %arg0 [3:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<5xf32>
    %1 = stablehlo.slice %arg0 [12:15] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<3xf32>
    %2 = stablehlo.slice %arg1 [1:8] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<8xf32>) -> tensor<7xf32>
    %3 = stablehlo.concatenate %0, %2, %1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<5xf32>, tensor<7xf32>, tensor<3xf32>) -> tensor<15xf32>
    return %3 : tensor<15xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<15xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = "shardwise.join"(%arg0, %arg1) <{dimension = 0 : i64, parts = array<i64: 0, 3, 5, 1, 1, 7, 0, 12, 3>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>, tensor<8xf32>) -> tensor<15xf32>
    return %0 : tensor<15xf32>
  }
}
