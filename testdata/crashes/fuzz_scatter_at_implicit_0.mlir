// runs
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %i: tensor<2x0xi32>, %u: tensor<2xi32>) -> tensor<3xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<3xi32>, tensor<2x0xi32>, tensor<2xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}
