// runs
// Branches that are known to run are inlined: the only one, and those that constants select, in range or not.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%i: tensor<i32>, %a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>) {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %many = stablehlo.constant dense<-4> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({
    %3 = stablehlo.negate %a : tensor<16x32xf32>
    stablehlo.return %3 : tensor<16x32xf32>
  }) : (tensor<i32>) -> tensor<16x32xf32>
  %1 = "stablehlo.if"(%true) ({
    %3 = stablehlo.cosine %a : tensor<16x32xf32>
    stablehlo.return %3 : tensor<16x32xf32>
  }, {
    stablehlo.return %a : tensor<16x32xf32>
  }) : (tensor<i1>) -> tensor<16x32xf32>
  %2 = "stablehlo.case"(%many) ({
    stablehlo.return %a : tensor<16x32xf32>
  }, {
    %3 = stablehlo.add %a, %1 : tensor<16x32xf32>
    stablehlo.return %3 : tensor<16x32xf32>
  }) : (tensor<i32>) -> tensor<16x32xf32>
  return %0, %1, %2 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>
}
