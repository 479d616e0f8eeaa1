// runs
// All values that the loop carries are unused. The loop itself stays.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %false = stablehlo.constant dense<false> : tensor<i1>
  %0:2 = stablehlo.while(%x = %a, %y = %a) : tensor<8xf32>, tensor<8xf32>
  cond {
    stablehlo.return %false : tensor<i1>
  } do {
    %1 = stablehlo.add %x, %y : tensor<8xf32>
    stablehlo.return %y, %1 : tensor<8xf32>, tensor<8xf32>
  }
  return %a : tensor<8xf32>
}
