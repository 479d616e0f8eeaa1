// runs
// Sums of booleans are made in the result's type.
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<1x1x2xi1> {sdy.sharding = #sdy.sharding<@m, [{},{},{"x"}]>}, %b: tensor<1x2x1xi1> {sdy.sharding = #sdy.sharding<@m, [{},{"x"},{}]>}) -> tensor<1x1x1xi32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x2xi1>, tensor<1x2x1xi1>) -> tensor<1x1x1xi32>
  return %0 : tensor<1x1x1xi32>
}
