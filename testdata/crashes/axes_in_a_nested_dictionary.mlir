// runs: axes without a mesh in a dictionary in an attribute are text, and do not become an attribute of the op.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xi32> {
  %0 = stablehlo.add %a, %a {note = {axes = #sdy<list_of_axis_ref_lists[{"x"}, {}]>}} : tensor<4xi32>
  return %0 : tensor<4xi32>
}
