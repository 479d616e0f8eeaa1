// runs
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<8x6xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i8>
  %sum = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<8x6xi8>, tensor<i8>) -> tensor<8xi32>
  return %sum : tensor<8xi32>
}
