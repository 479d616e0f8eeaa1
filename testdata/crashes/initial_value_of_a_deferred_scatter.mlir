// runs
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%x: tensor<2xf64>, %s: tensor<8xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}, %i: tensor<24xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}]>}, %z: tensor<7xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>}) -> (tensor<2xf64>, tensor<1xf16>) {
  %0 = stablehlo.slice %s [0:1] : (tensor<8xf64>) -> tensor<1xf64>
  %1 = stablehlo.slice %i [0:1] : (tensor<24xf64>) -> tensor<1xf64>
  %2 = stablehlo.reshape %1 : (tensor<1xf64>) -> tensor<f64>
  %3 = "stablehlo.select_and_scatter"(%x, %0, %2) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %c = stablehlo.compare LE, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %c = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %c : tensor<f64>
  }) : (tensor<2xf64>, tensor<1xf64>, tensor<f64>) -> tensor<2xf64>
  %4 = stablehlo.abs %z : tensor<7xf16>
  %5 = stablehlo.constant dense<0.0> : tensor<7xf16>
  %6 = stablehlo.minimum %4, %5 : tensor<7xf16>
  %7 = stablehlo.negate %6 : tensor<7xf16>
  %8 = stablehlo.slice %7 [0:1] : (tensor<7xf16>) -> tensor<1xf16>
  return %3, %8 : tensor<2xf64>, tensor<1xf16>
}
