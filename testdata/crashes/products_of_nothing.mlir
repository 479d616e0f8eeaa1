// runs
// The plan of 2^40 products without elements listed the offset of each.
func.func @main(%x: tensor<1099511627776x0x4xf32>, %y: tensor<1099511627776x4x0xf32>) -> tensor<1099511627776x0x0xf32> {
%0 = stablehlo.dot_general %x, %y, batching_dims=[0]x[0], contracting_dims=[2]x[1] : (tensor<1099511627776x0x4xf32>, tensor<1099511627776x4x0xf32>) -> tensor<1099511627776x0x0xf32>
return %0 : tensor<1099511627776x0x0xf32>
}
