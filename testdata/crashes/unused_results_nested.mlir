// runs
// Results that only an unused branch reads are removed from a branch and from a loop inside of it.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%i: tensor<i32>, %p: tensor<i1>, %a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %s = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %0:2 = "stablehlo.case"(%i) ({
    %1:4 = stablehlo.while(%k = %zero, %x = %a, %y = %s, %u = %s) : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>
    cond {
      %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %k, %one : tensor<i32>
      %d = stablehlo.negate %x : tensor<16x32xf32>
      %2 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
      %3 = stablehlo.maximum %y, %2 : tensor<32xf32>
      stablehlo.return %j, %d, %3, %y : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>
    }
    stablehlo.return %1#1, %1#3 : tensor<16x32xf32>, tensor<32xf32>
  }, {
    %1 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
    stablehlo.return %a, %1 : tensor<16x32xf32>, tensor<32xf32>
  }) : (tensor<i32>) -> (tensor<16x32xf32>, tensor<32xf32>)
  %4 = "stablehlo.if"(%p) ({
    stablehlo.return %0#1 : tensor<32xf32>
  }, {
    stablehlo.return %s : tensor<32xf32>
  }) : (tensor<i1>) -> tensor<32xf32>
  return %0#0 : tensor<16x32xf32>
}
