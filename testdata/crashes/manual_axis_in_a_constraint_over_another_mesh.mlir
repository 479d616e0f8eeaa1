// refused
// The constraint splits the value over the axis "p" of another mesh, which is the axis "x" that is manual around it.
sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @b = <["p"=2,"q"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>) {
    %1 = stablehlo.reverse %p, dims = [0] : tensor<4xf32>
    %2 = sdy.sharding_constraint %1 <@b, [{"p"}]> : tensor<4xf32>
    sdy.return %2 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
