// runs
// A value that a loop carries for itself only is removed: its sums over devices are not computed.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %y = %s) : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i32>
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %d = stablehlo.negate %x : tensor<16x32xf32>
      %2 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
      %3 = stablehlo.maximum %y, %2 : tensor<32xf32>
      stablehlo.return %j, %d, %3 : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>
    }
  return %r#1 : tensor<16x32xf32>
}
