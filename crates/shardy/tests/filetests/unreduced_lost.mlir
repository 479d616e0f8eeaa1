// run: sdy-verify-unreduced-axes
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) -> tensor<8xf32> {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
error[unreduced]: an operand of `stablehlo.negate` is unreduced over "x", and no result of the op is
  --> test.mlir:4:3
   = help: sum over it with `sdy.reshard` or `sdy.all_reduce`, or keep the axis in the `unreduced` list of the result
