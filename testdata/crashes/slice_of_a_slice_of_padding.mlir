// runs
sdy.mesh @mesh = <["x"=3]>
func.func @main(%x: tensor<8xf32>) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<0xf32>, tensor<2xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %one, low = [0], high = [8], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = stablehlo.slice %0 [0:6] : (tensor<16xf32>) -> tensor<6xf32>
  %2 = stablehlo.slice %1 [0:0] : (tensor<6xf32>) -> tensor<0xf32>
  %3 = stablehlo.slice %1 [1:5] : (tensor<6xf32>) -> tensor<4xf32>
  %4 = stablehlo.slice %3 [2:4] : (tensor<4xf32>) -> tensor<2xf32>
  return %0, %1, %2, %4 : tensor<16xf32>, tensor<6xf32>, tensor<0xf32>, tensor<2xf32>
}
