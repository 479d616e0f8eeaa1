// runs
// The part "p" of an axis of the main mesh is manual and the part "q" is free; the interpreter cuts the value along both.
sdy.mesh @a = <["x"=4]>
sdy.mesh @b = <["p"=2, "q"=2]>
func.func @main(%a0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"},{}]>}) -> (tensor<8x4xf32>) {
  %m = sdy.manual_computation(%a0) in_shardings=[<@b, [{"p"},{"q"}]>] out_shardings=[<@b, [{"p"},{"q"}]>] manual_axes={"p"} (%p0: tensor<4x4xf32>) {
    %r = stablehlo.reverse %p0, dims = [0,1] : tensor<4x4xf32>
    sdy.return %r : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> (tensor<8x4xf32>)
  return %m : tensor<8x4xf32>
}
