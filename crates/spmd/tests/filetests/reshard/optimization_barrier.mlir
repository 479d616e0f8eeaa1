// A barrier stays, and each of its values has one layout.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %t = stablehlo.create_token : !stablehlo.token
  %0:2 = stablehlo.optimization_barrier %a, %t : tensor<8xf32>, !stablehlo.token
  return %0#0 : tensor<8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.create_token : !stablehlo.token
    %1:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>, <@mesh, []>]>} %arg0, %0 : tensor<8xf32>, !stablehlo.token
    return %1#0 : tensor<8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.create_token : !stablehlo.token
    %1:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, []>]>, shardwise.no_sharding = array<i64: 1>} %arg0, %0 : tensor<8xf32>, !stablehlo.token
    %2 = sdy.reshard %1#0 <@mesh, [{}]> : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
