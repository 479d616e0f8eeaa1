// runs
// Both operands of the ragged_dot are sums over devices: the sum of the products of their summands is not the product of the sums.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<2x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<256x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %v: tensor<256x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b : tensor<256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %g: tensor<2xi32>) -> (tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<2x256xf32>, tensor<256x3xf32>) -> tensor<2x3xf32>
  %l = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<2x3xf32>
  %1 = stablehlo.dot_general %v, %b, contracting_dims = [0] x [0] : (tensor<256x24xf32>, tensor<256xf32>) -> tensor<24xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{}]> : tensor<24xf32>
  %r = stablehlo.reshape %2 : (tensor<24xf32>) -> tensor<2x3x4xf32>
  %3 = "chlo.ragged_dot"(%l, %r, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
