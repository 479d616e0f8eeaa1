// runs
// Cleanup replaces the one op in an async_start, which reads a value of outside, by an equal op that comes before.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
  %0 = stablehlo.slice %a [0:4, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<8x4xf32>):
    %4 = stablehlo.slice %a [0:4, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
    stablehlo.return %4 : tensor<4x4xf32>
  }) : (tensor<8x4xf32>) -> !stablehlo.future<tensor<4x4xf32>>
  %2 = "stablehlo.async_done"(%1) : (!stablehlo.future<tensor<4x4xf32>>) -> tensor<4x4xf32>
  %3 = stablehlo.add %0, %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
