module {
  sdy.mesh @mesh = <["X"=2, "Y"=4]>
  func.func public @main(%arg0: tensor<512x2048xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>, shardwise.global_type = tensor<1024x2048xi32>, shardwise.varying = "{X}"}, %arg1: tensor<2048x2048xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>, shardwise.global_type = tensor<2048x8192xi32>, shardwise.varying = "{Y}"}) -> (tensor<512x2048xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>, shardwise.global_type = tensor<1024x8192xi32>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {shardwise.varying = ["{X,Y}"]} : (tensor<512x2048xi32>, tensor<2048x2048xi32>) -> tensor<512x2048xi32>
    return %0 : tensor<512x2048xi32>
  }
}
