// runs
// A block program ran 2^40 rows without elements one by one.
func.func @main() -> tensor<1099511627776x0xf32> {
%0 = stablehlo.iota dim=0 : tensor<1099511627776x0xf32>
return %0 : tensor<1099511627776x0xf32>
}
