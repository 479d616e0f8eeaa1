// runs
// The same with a dot of i8 values whose result is f32: 200 instead of -56 with [dense<100> : tensor<1x2xi8>, dense<1> : tensor<2x1xi8>, dense<1> : tensor<1x1xi8>].
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<1x2xi8> {sdy.sharding = #sdy.sharding<@m, [{},{"x"}]>}, %b: tensor<2x1xi8> {sdy.sharding = #sdy.sharding<@m, [{"x"},{}]>}, %c: tensor<1x1xi8>) -> tensor<1x1xf32> {
  %0 = stablehlo.dot %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@m, [{},{}], unreduced={"x"}>]>} : (tensor<1x2xi8>, tensor<2x1xi8>) -> tensor<1x1xi8>
  %1 = stablehlo.dot %0, %c {sdy.sharding = #sdy.sharding_per_value<[<@m, [{},{}], unreduced={"x"}>]>} : (tensor<1x1xi8>, tensor<1x1xi8>) -> tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}
