// A slice with a stride takes all of a dimension of one element, which is padded.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<1x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [0:1:3, 0:5] : (tensor<1x5xi32>) -> tensor<1x5xi32>
  return %0 : tensor<1x5xi32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<1x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.all_gather [{"x"}, {}] %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<1x5xi32>
    %1 = stablehlo.slice %0 [0:1:3, 0:5] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x5xi32>) -> tensor<1x5xi32>
    %2 = sdy.all_slice [{"x"}, {}] %1 out_sharding=<@mesh, [{"x"}, {}]> : tensor<1x5xi32>
    return %2 : tensor<1x5xi32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<2x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<1x5xi32>, shardwise.padding = [{dim = 0 : i64, size = 1 : i64}]}) -> (tensor<2x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<1x5xi32>}) {
    %0 = sdy.all_gather [{"x"}, {}] %arg0 out_sharding=<@mesh, [{}, {}]> {shardwise.padding = [[{dim = 0 : i64, size = 1 : i64}]]} : tensor<2x5xi32>
    %1 = stablehlo.slice %0 [0:1, 0:5] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<2x5xi32>) -> tensor<1x5xi32>
    %2 = stablehlo.slice %1 [0:1, 0:5] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<1x5xi32>) -> tensor<1x5xi32>
    %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %4 = stablehlo.pad %2, %3, low = [0, 0], high = [1, 0], interior = [0, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, holds = dense<0> : tensor<i32>, size = 1 : i64}]]} : (tensor<1x5xi32>, tensor<i32>) -> tensor<2x5xi32>
    %5 = sdy.all_slice [{"x"}, {}] %4 out_sharding=<@mesh, [{"x"}, {}]> {shardwise.padding = [[{dim = 0 : i64, size = 1 : i64}]]} : tensor<2x5xi32>
    return %5 : tensor<2x5xi32>
  }
}
