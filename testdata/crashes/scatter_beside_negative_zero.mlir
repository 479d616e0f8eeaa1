// runs
// The updates of a scatter-add are split: elements that no update touches keep -0, so 1/x is -inf everywhere, and must not become +inf.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%i: tensor<6x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %u: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %a = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<6x1xi32>, tensor<6xf32>) -> tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %1 = stablehlo.divide %one, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
