// runs
// The token that the skipped call returns is not its operand at the same position.
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %d = stablehlo.constant dense<7> : tensor<i64>
  %t = stablehlo.create_token : !stablehlo.token
  %0 = stablehlo.custom_call @xla_python_cpu_callback(%d, %t, %x) {has_side_effect = true} : (tensor<i64>, !stablehlo.token, tensor<f32>) -> !stablehlo.token
  %1 = stablehlo.after_all %0, %t : !stablehlo.token
  return %x : tensor<f32>
}
