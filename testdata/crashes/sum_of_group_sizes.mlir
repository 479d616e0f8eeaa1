// runs
// Group sizes that are an unreduced sum (right before the mend that makes ragged_dot Each, wrong after it, because Each allows operand 2): must give 16 everywhere with [dense<1.0> : tensor<4x8xf32>, dense<2.0> : tensor<2x8x3xf32>, dense<1> : tensor<2x2xi32>].
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<4x8xf32>, %b: tensor<2x8x3xf32>, %g: tensor<2x2xi32> {sdy.sharding = #sdy.sharding<@m, [{"x"},{}]>}) -> tensor<4x3xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.reduce(%g init: %z) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}], unreduced={"x"}>]>} : (tensor<2x2xi32>, tensor<i32>) -> tensor<2xi32>
  %0 = "chlo.ragged_dot"(%a, %b, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> {sdy.sharding = #sdy.sharding_per_value<[<@m, [{},{}], unreduced={"x"}>]>} : (tensor<4x8xf32>, tensor<2x8x3xf32>, tensor<2xi32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
