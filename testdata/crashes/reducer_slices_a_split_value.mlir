// runs
// The same in a region of reduce.
sdy.mesh @m = <["x"=2]>
func.func @main(%t: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %b: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"},{}]>}) -> tensor<8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = "stablehlo.reduce"(%b, %z) ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %l = stablehlo.slice %t [3:4] : (tensor<4xf32>) -> tensor<1xf32>
     %s = stablehlo.reshape %l : (tensor<1xf32>) -> tensor<f32>
     %q = stablehlo.add %x, %y : tensor<f32>
     %r = stablehlo.minimum %q, %s : tensor<f32>
     stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<8x3xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
