// What the partitioner made, given to it again: its arguments' types are no global types.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<5xf32>}) -> tensor<2xf32> {
  return %arg0 : tensor<2xf32>
}
