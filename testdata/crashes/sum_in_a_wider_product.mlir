// runs
// A dot of an unreduced i8 value with a result of i32 multiplies summands that have not wrapped: 200 instead of -56 with [dense<100> : tensor<1x2xi8>, dense<1> : tensor<2x1xi8>, dense<1> : tensor<1x1xi8>].
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<1x2xi8> {sdy.sharding = #sdy.sharding<@m, [{},{"x"}]>}, %b: tensor<2x1xi8> {sdy.sharding = #sdy.sharding<@m, [{"x"},{}]>}, %c: tensor<1x1xi8>) -> tensor<1x1xi32> {
  %0 = stablehlo.dot %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@m, [{},{}], unreduced={"x"}>]>} : (tensor<1x2xi8>, tensor<2x1xi8>) -> tensor<1x1xi8>
  %1 = stablehlo.dot %0, %c {sdy.sharding = #sdy.sharding_per_value<[<@m, [{},{}], unreduced={"x"}>]>} : (tensor<1x1xi8>, tensor<1x1xi8>) -> tensor<1x1xi32>
  return %1 : tensor<1x1xi32>
}
