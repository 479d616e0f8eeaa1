// runs
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<7xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %sum = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<8xbf16>, tensor<bf16>) -> tensor<7xf32>
  return %sum : tensor<7xf32>
}
