// Every other element of a roll is one op: it runs around the operand. A concatenation of slices with strides stays, since
// its blocks would fetch what is left out.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %a [13:16] : (tensor<16xf32>) -> tensor<3xf32>
  %1 = stablehlo.slice %a [0:13] : (tensor<16xf32>) -> tensor<13xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3xf32>, tensor<13xf32>) -> tensor<16xf32>
  %3 = stablehlo.slice %2 [0:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  %4 = stablehlo.slice %a [0:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  %5 = stablehlo.slice %a [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  %6 = stablehlo.concatenate %4, %5, dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %3, %6 : tensor<8xf32>, tensor<16xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.slice %arg0 [13:16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<3xf32>
    %1 = stablehlo.slice %arg0 [0:13] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<13xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<3xf32>, tensor<13xf32>) -> tensor<16xf32>
    %3 = stablehlo.slice %2 [0:16:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<8xf32>
    %4 = stablehlo.slice %arg0 [0:16:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<8xf32>
    %5 = stablehlo.slice %arg0 [1:16:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<8xf32>
    %6 = stablehlo.concatenate %4, %5, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
    return %3, %6 : tensor<8xf32>, tensor<16xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = "shardwise.join"(%arg0) <{dimension = 0 : i64, parts = array<i64: 0, 13, 2, 0, 1, 6>, stride = 2 : i64}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<8xf32>
    %1 = stablehlo.slice %arg0 [0:16:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<8xf32>
    %2 = stablehlo.slice %arg0 [1:16:2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<16xf32>) -> tensor<8xf32>
    %3 = stablehlo.concatenate %1, %2, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
    return %0, %3 : tensor<8xf32>, tensor<16xf32>
  }
}
