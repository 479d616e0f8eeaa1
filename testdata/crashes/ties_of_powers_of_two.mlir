// runs
// 3.0 and 0.75 lie halfway between powers of two, and are rounded up.
func.func public @main() -> (tensor<2xf32>, tensor<2xf32>) {
  %a = stablehlo.constant dense<[3.0, 0.75]> : tensor<2xf8E8M0FNU>
  %0 = stablehlo.convert %a : (tensor<2xf8E8M0FNU>) -> tensor<2xf32>
  %b = stablehlo.constant dense<[3.0, 0.75]> : tensor<2xf32>
  %c = stablehlo.convert %b : (tensor<2xf32>) -> tensor<2xf8E8M0FNU>
  %1 = stablehlo.convert %c : (tensor<2xf8E8M0FNU>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
