// The operands and results do not have the ranks of the functions, or are missing.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<4x5xf32>) -> (tensor<4x4xf32>, tensor<f32>) {
  %0 = stablehlo.custom_call @Cholesky(%a) : (tensor<4xf32>) -> tensor<4x4xf32>
  %1:2 = stablehlo.custom_call @mhlo.topk(%b) : (tensor<4x5xf32>) -> (tensor<f32>, tensor<i32>)
  stablehlo.custom_call @X64Combine(%a, %a) {has_side_effect = true} : (tensor<4xf32>, tensor<4xf32>) -> ()
  return %0, %1#0 : tensor<4x4xf32>, tensor<f32>
}
