// runs
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %u: tensor<1x4xi32>) -> tensor<4xi32> {
  %i = stablehlo.constant dense<1> : tensor<1x1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<4xi32>, tensor<1x1xi32>, tensor<1x4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
