// refused
// The inner computation is manual over the axis "p" of another mesh, which is the axis "x" that is manual around it.
sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @b = <["p"=2,"q"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>) {
    %1 = sdy.manual_computation(%p) in_shardings=[<@b, [{"p"}]>] out_shardings=[<@b, [{"p"}]>] manual_axes={"p"} (%q: tensor<2xf32>) {
      %2 = stablehlo.reverse %q, dims = [0] : tensor<2xf32>
      sdy.return %2 : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
