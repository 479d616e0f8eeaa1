// refused
// The inner computation is manual over the same devices as the outer one, by an axis of an equal mesh of another name.
sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @b = <["x"=2,"y"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>) {
    %1 = sdy.manual_computation(%p) in_shardings=[<@b, [{"x"}]>] out_shardings=[<@b, [{"x"}]>] manual_axes={"x"} (%q: tensor<2xf32>) {
      %2 = stablehlo.reverse %q, dims = [0] : tensor<2xf32>
      sdy.return %2 : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
