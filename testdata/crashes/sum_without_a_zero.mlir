// runs
// A sum in f8E8M0FNU starts each of 64 lanes from its smallest number, as the type has no zero: 2^-121 with [dense<"0x0000"> : tensor<2xf8E8M0FNU>, dense<"0x00"> : tensor<f8E8M0FNU>], where 3 * 2^-127 rounds to 2^-126 or 2^-125.
func.func @main(%a: tensor<2xf8E8M0FNU>, %i: tensor<f8E8M0FNU>) -> tensor<f8E8M0FNU> {
  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [0] : (tensor<2xf8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<f8E8M0FNU>
  return %0 : tensor<f8E8M0FNU>
}
