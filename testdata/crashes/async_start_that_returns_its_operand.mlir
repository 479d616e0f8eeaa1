// runs
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<8x4xf32>):
    %2 = stablehlo.slice %x [0:8, 0:4] : (tensor<8x4xf32>) -> tensor<8x4xf32>
    stablehlo.return %x : tensor<8x4xf32>
  }) : (tensor<8x4xf32>) -> !stablehlo.future<tensor<8x4xf32>>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<8x4xf32>>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
