// runs
// A named reduction of 2^40 rows without elements makes a list of 2^40 row starts in the interpreter: the process aborts (the host runs it).
func.func @main(%x: tensor<1099511627776x0xf32>, %i: tensor<f32>) -> tensor<0xf32> {
%0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<1099511627776x0xf32>, tensor<f32>) -> tensor<0xf32>
return %0 : tensor<0xf32>
}
