// runs
// A byte of these types has bits that are not used.
func.func @main() -> (tensor<4xf4E2M1FN>, tensor<2xf6E3M2FN>, tensor<3xf6E2M3FN>) {
  %0 = stablehlo.constant dense<"0x0A1B2CFF"> : tensor<4xf4E2M1FN>
  %1 = stablehlo.constant dense<"0x7FC1"> : tensor<2xf6E3M2FN>
  %2 = stablehlo.constant dense<"0xFF"> : tensor<3xf6E2M3FN>
  return %0, %1, %2 : tensor<4xf4E2M1FN>, tensor<2xf6E3M2FN>, tensor<3xf6E2M3FN>
}
