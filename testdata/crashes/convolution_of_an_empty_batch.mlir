// runs
// A convolution of an empty batch walks over all output positions (both engines).
func.func @main(%x: tensor<0x1099511627776x1xf32>, %k: tensor<2x1x3xf32>) -> tensor<0x1099511627775x3xf32> {
%0 = stablehlo.convolution(%x, %k) dim_numbers=[b,0,f]x[0,i,o]->[b,0,f], window={} {batch_group_count=1:i64, feature_group_count=1:i64} : (tensor<0x1099511627776x1xf32>, tensor<2x1x3xf32>) -> tensor<0x1099511627775x3xf32>
return %0 : tensor<0x1099511627775x3xf32>
}
