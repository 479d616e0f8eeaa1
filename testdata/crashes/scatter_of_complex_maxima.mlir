// runs
// A scatter by maximum of complex numbers pads uneven updates with 0, which is no identity: (0, 0) instead of (-1, 1) with [dense<(-9.0,1.0)> : tensor<4xcomplex<f32>>, dense<0> : tensor<63x1xi32>, dense<(-1.0,1.0)> : tensor<63xcomplex<f32>>].
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4xcomplex<f32>>, %i: tensor<63x1xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"},{}]>}, %u: tensor<63xcomplex<f32>> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> tensor<4xcomplex<f32>> {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%arg3: tensor<complex<f32>>, %arg4: tensor<complex<f32>>):
    %1 = stablehlo.maximum %arg3, %arg4 : tensor<complex<f32>>
    stablehlo.return %1 : tensor<complex<f32>>
  }) : (tensor<4xcomplex<f32>>, tensor<63x1xi32>, tensor<63xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}
