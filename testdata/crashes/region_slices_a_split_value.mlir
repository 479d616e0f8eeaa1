// runs
// A region of map slices a sharded tensor from outside; localize puts shardwise.axis_index into the region, which no engine runs there.
sdy.mesh @m = <["x"=2]>
func.func @main(%t: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  %1 = "stablehlo.map"(%b) ({
   ^bb0(%x: tensor<f32>):
     %l = stablehlo.slice %t [3:4] : (tensor<4xf32>) -> tensor<1xf32>
     %s = stablehlo.reshape %l : (tensor<1xf32>) -> tensor<f32>
     %q = stablehlo.add %x, %s : tensor<f32>
     stablehlo.return %q : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
