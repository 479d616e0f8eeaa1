// runs
// The same with a convolution.
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<1x2xi8> {sdy.sharding = #sdy.sharding<@m, [{},{"x"}]>}, %b: tensor<2x1xi8> {sdy.sharding = #sdy.sharding<@m, [{"x"},{}]>}, %c: tensor<1x1xi8>) -> tensor<1x1xi32> {
  %0 = stablehlo.dot %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@m, [{},{}], unreduced={"x"}>]>} : (tensor<1x2xi8>, tensor<2x1xi8>) -> tensor<1x1xi8>
  %1 = stablehlo.convolution(%0, %c) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding = #sdy.sharding_per_value<[<@m, [{},{}], unreduced={"x"}>]>} : (tensor<1x1xi8>, tensor<1x1xi8>) -> tensor<1x1xi32>
  return %1 : tensor<1x1xi32>
}
