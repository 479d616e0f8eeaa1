// Without a module around them, functions and meshes are a module of their own. A mesh may follow its uses.
func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<4xf32> {
  return %arg0 : tensor<4xf32>
}
sdy.mesh @m = <["x"=2, "y"=2], device_ids=[3, 2, 1, 0]> {stablehlo.mesh = {axes = []}, team = "blue"}
sdy.mesh @one = <[], device_ids=[5]>
sdy.mesh @typed = <["x"=4, "y"=4]> {shardwise.axis_kinds = ["explicit", "auto"], shardwise.communicate = "deny", shardwise.topology = {grid = array<i64: 4, 4>, kind = "tpu-v5e"}, shardwise.rates = {flops = 2189 : i64, memory_bytes = 9 : i64, slowdowns = array<i64: 1, 2>, start = 201 : i64}}
// ---- expected
module {
  sdy.mesh @m = <["x"=2, "y"=2], device_ids=[3, 2, 1, 0]> {team = "blue"}
  sdy.mesh @one = <[], device_ids=[5]>
  sdy.mesh @typed = <["x"=4, "y"=4]> {shardwise.axis_kinds = ["explicit", "auto"], shardwise.communicate = "deny", shardwise.rates = {flops = 2189 : i64, memory_bytes = 9 : i64, slowdowns = array<i64: 1, 2>, start = 201 : i64}, shardwise.topology = {grid = array<i64: 4, 4>, kind = "tpu-v5e"}}
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
}
