// runs
// The second result of the case is never read, and its sum over devices is not computed.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%i: tensor<i32>, %a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0:2 = "stablehlo.case"(%i) ({
    %1 = stablehlo.negate %a : tensor<16x32xf32>
    %2 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
    stablehlo.return %1, %2 : tensor<16x32xf32>, tensor<32xf32>
  }) : (tensor<i32>) -> (tensor<16x32xf32>, tensor<32xf32>)
  return %0#0 : tensor<16x32xf32>
}
