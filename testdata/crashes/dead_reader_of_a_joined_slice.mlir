// runs
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %x [0:3] : (tensor<8xf32>) -> tensor<3xf32>
  %1 = stablehlo.slice %x [3:8] : (tensor<8xf32>) -> tensor<5xf32>
  %dead = stablehlo.negate %0 : tensor<3xf32>
  %2 = stablehlo.concatenate %1, %0, dim = 0 : (tensor<5xf32>, tensor<3xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
