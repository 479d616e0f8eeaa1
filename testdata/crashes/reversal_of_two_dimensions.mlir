// runs
// A reversal of two sharded dimensions moves each block once, over both axes.
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func @main(%a: tensor<2x32x64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) -> (tensor<2x32x64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) {
    %0 = stablehlo.reverse %a, dims = [1, 2] : tensor<2x32x64x8xf32>
    return %0 : tensor<2x32x64x8xf32>
  }
}
