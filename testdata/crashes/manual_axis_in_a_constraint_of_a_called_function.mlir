// refused
// A called function splits its value over "x", which is manual around the call, and half of the result is wrong.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%p: tensor<4xf32>) {
    %1 = func.call @f(%p) : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%p: tensor<4xf32>) -> tensor<4xf32> {
    %1 = stablehlo.reverse %p, dims = [0] : tensor<4xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<4xf32>
    return %2 : tensor<4xf32>
}
