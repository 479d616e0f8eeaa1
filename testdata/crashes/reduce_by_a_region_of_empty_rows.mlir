// runs
// A region reduction of 2^40 rows without elements makes a list of 2^40 offsets in the reference evaluation: the process aborts.
func.func @main(%x: tensor<1099511627776x0xf32>, %i: tensor<f32>) -> tensor<0xf32> {
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
 %2 = stablehlo.subtract %a, %b : tensor<f32>
 stablehlo.return %2 : tensor<f32>
}) : (tensor<1099511627776x0xf32>, tensor<f32>) -> tensor<0xf32>
return %0 : tensor<0xf32>
}
