// What is gathered is cut to its size.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  return %a : tensor<5xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = sdy.all_gather [{"x"}] %arg0 out_sharding=<@mesh, [{}]> : tensor<5xf32>
    return %0 : tensor<5xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<5xf32>, shardwise.padding = [{dim = 0 : i64, size = 5 : i64}]}) -> (tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = sdy.all_gather [{"x"}] %arg0 out_sharding=<@mesh, [{}]> {shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : tensor<8xf32>
    %1 = stablehlo.slice %0 [0:5] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xf32>) -> tensor<5xf32>
    return %1 : tensor<5xf32>
  }
}
