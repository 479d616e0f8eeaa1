// run: sdy-verify-unreduced-axes
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) -> tensor<8xf32> {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
error[unreduced]: the operand of `stablehlo.negate` is unreduced over "x", and its result is not
  --> test.mlir:4:3
   = help: sum over it with `sdy.reshard` or `sdy.all_reduce`, or keep the axis in the `unreduced` list of the result
