// refused
// A priority of an empty closed dimension, replicated axes out of the order of the mesh, and two sub-axes that are one.
sdy.mesh @mesh = <["x"=8, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}p0]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"y", "x"}>}, %c: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, "x":(2)4}]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
