// Digits of the layouts decide how devices exchange blocks: in one all-to-all over several dimensions, in another order,
// or directly where no sequence of collectives moves as little.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%two: tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}, {}]>},
    %order: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>},
    %cross: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>},
    %swap: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {}, {"x"}]>},
    tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>},
    tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>},
    tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
  return %two, %order, %cross, %swap : tensor<4x8x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, %arg3: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {}, {"x"}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{}, {"y"}, {}, {"x"}]> : tensor<4x8x4x8xf32>
    %1 = sdy.reshard %arg1 <@mesh, [{}, {"y", "x"}]> : tensor<8x8xf32>
    %2 = sdy.reshard %arg2 <@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
    %3 = sdy.reshard %arg3 <@mesh, [{}, {"x", "y"}]> : tensor<8x8xf32>
    return %0, %1, %2, %3 : tensor<4x8x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, %arg3: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {}, {"x"}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
    %0 = sdy.all_to_all [{"y"}: 0->1, {"x"}: 2->3] %arg0 out_sharding=<@mesh, [{}, {"y"}, {}, {"x"}]> : tensor<4x8x4x8xf32>
    %1 = sdy.all_to_all [{"y"}: 0->1, {"x"}: 0->1] %arg1 out_sharding=<@mesh, [{}, {"y", "x"}]> : tensor<8x8xf32>
    %2 = shardwise.exchange %arg2 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
    %3 = shardwise.exchange %arg3 out_sharding=<@mesh, [{}, {"x", "y"}]> : tensor<8x8xf32>
    return %0, %1, %2, %3 : tensor<4x8x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
