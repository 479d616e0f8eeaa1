// What values and ops carry beside attributes: it comes back.
sdy.mesh @mesh = <["x"=4, "y"=2, "an axis"=2]>
func.func @main(%arg0: tensor<8xf32> {shardwise.manual = "{V:x}", shardwise.varying = "{x}"}) -> tensor<8xf32> {
  %0:2 = "stablehlo.optimization_barrier"(%arg0, %arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>, <@mesh, [{"x"}]>]>, shardwise.manual = ["?", "{V:(x,y:(1)2), U:#2}"], shardwise.no_sharding = array<i64: 0>, shardwise.varying = ["{x:(1)2,y,#2}", "?"]} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %1 = sdy.reshard %0#1 <@mesh, [{}]> {shardwise.reason = {alternative = {bytes_received = 64 : ui64, what = "gather the other"}, bytes_received = 24 : ui64, cause = "operand", consumer = "stablehlo.dot_general", consumer_loc = loc("dot"("f.py":3:5 to :9)), factor = "k", index = 1 : i64, lost = "operand 1 [{\22x\22}]", text = "k is not sharded alike", won = "operand 0 [{}]"}} : tensor<8xf32>
  %2 = sdy.reshard %1 <@mesh, [{"x"}]> {shardwise.reason = {bytes_received = 0 : ui64, cause = "result", changes = [{bytes_chosen = 8 : ui64, bytes_propagated = 32 : ui64, chosen = "[{}]", propagated = "[{\22x\22}]", tensor = "result 0", value_count = 2 : i64}], forced = {from = #sdy.sharding<@mesh, [{}]>, to = #sdy.sharding<@mesh, [{"x"}]>, type = tensor<8xf32>}, reshard = {from = #sdy.sharding<@mesh, [{"y"}]>, to = #sdy.sharding<@mesh, [{"x"}]>, type = tensor<8xf32>}, step = 1 : i64}} : tensor<8xf32>
  %3 = stablehlo.while(%arg1 = %2) : tensor<8xf32> attributes {shardwise.arg_manual = [["?"], ["{R:x:(1)2}"]], shardwise.arg_shardings = [[#sdy.sharding<@mesh, [{"x"}]>], [unit]], shardwise.arg_varying = [["{}"], ["{*}"]]} cond {
    %4 = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %4 : tensor<i1>
  } do {
    stablehlo.return %arg1 : tensor<8xf32>
  }
  return %3 : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=4, "y"=2, "an axis"=2]>
  func.func public @main(%arg0: tensor<8xf32> {shardwise.manual = "{V:x}", shardwise.varying = "{x}"}) -> tensor<8xf32> {
    %0:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>, <@mesh, [{"x"}]>]>, shardwise.manual = ["?", "{V:(x,y), U:#2}"], shardwise.no_sharding = array<i64: 0>, shardwise.varying = ["{x:(1)2,y,#2}", "?"]} %arg0, %arg0 : tensor<8xf32>, tensor<8xf32>
    %1 = sdy.reshard %0#1 <@mesh, [{}]> {shardwise.reason = {alternative = {bytes_received = 64 : ui64, what = "gather the other"}, bytes_received = 24 : ui64, cause = "operand", consumer = "stablehlo.dot_general", consumer_loc = loc("dot"("f.py":3:5 to :9)), factor = "k", index = 1 : i64, lost = "operand 1 [{\22x\22}]", text = "k is not sharded alike", won = "operand 0 [{}]"}} : tensor<8xf32>
    %2 = sdy.reshard %1 <@mesh, [{"x"}]> {shardwise.reason = {bytes_received = 0 : ui64, cause = "result", changes = [{bytes_chosen = 8 : ui64, bytes_propagated = 32 : ui64, chosen = "[{}]", propagated = "[{\22x\22}]", tensor = "result 0", value_count = 2 : i64}], forced = {from = #sdy.sharding<@mesh, [{}]>, to = #sdy.sharding<@mesh, [{"x"}]>, type = tensor<8xf32>}, reshard = {from = #sdy.sharding<@mesh, [{"y"}]>, to = #sdy.sharding<@mesh, [{"x"}]>, type = tensor<8xf32>}, step = 1 : i64}} : tensor<8xf32>
    %3 = stablehlo.while(%arg1 = %2) : tensor<8xf32> attributes {shardwise.arg_manual = [["?"], ["{R:x:(1)2}"]], shardwise.arg_shardings = [[#sdy.sharding<@mesh, [{"x"}]>], [unit]], shardwise.arg_varying = [["{}"], ["{*}"]]}
    cond {
      %4 = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      stablehlo.return %arg1 : tensor<8xf32>
    }
    return %3 : tensor<8xf32>
  }
}
