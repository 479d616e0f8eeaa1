// runs
func.func @main() -> tensor<4xf64> {
  %x = stablehlo.constant dense<[1.0e30, 1.0e30, 2.0, 3.0]> : tensor<4xf64>
  %q = stablehlo.constant dense<[2.0, 7.5, -1.0e14, -1.0e13]> : tensor<4xf64>
  %quarter = stablehlo.constant dense<0.25> : tensor<4xf64>
  %p = stablehlo.subtract %q, %quarter : tensor<4xf64>
  %0 = chlo.zeta %x, %p : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
