// refused
// `replicated` occurs twice in one sharding.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"y"}, replicated={"x"}>}) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
