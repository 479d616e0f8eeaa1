// runs
// The second number is half-way between two numbers of 16 bits, and the first one almost is.
func.func @main(%a: tensor<37xf64>) -> (tensor<2xf16>, tensor<37xf16>, tensor<37xbf16>) {
  %0 = stablehlo.constant dense<[-0.15411380631918856, -0.15411376953125]> : tensor<2xf64>
  %1 = stablehlo.convert %0 : (tensor<2xf64>) -> tensor<2xf16>
  %near = stablehlo.constant dense<0.15411380631918856> : tensor<37xf64>
  %2 = stablehlo.multiply %a, %near : tensor<37xf64>
  %3 = stablehlo.convert %2 : (tensor<37xf64>) -> tensor<37xf16>
  %one = stablehlo.constant dense<1.00390625001> : tensor<37xf64>
  %4 = stablehlo.multiply %a, %one : tensor<37xf64>
  %5 = stablehlo.convert %4 : (tensor<37xf64>) -> tensor<37xbf16>
  return %1, %3, %5 : tensor<2xf16>, tensor<37xf16>, tensor<37xbf16>
}
