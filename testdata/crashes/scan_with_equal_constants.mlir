// runs
// The region of a scan is isolated: its constants stay within, also if there are equal ones outside.
sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}) -> tensor<4x6xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<6xf32>
  %y = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
  %z = stablehlo.multiply %x, %y : tensor<4x6xf32>
  %0:2 = chlo.scan(%z) inits(%c) dimension=0 {
  ^bb0(%arg2: tensor<6xf32>, %arg3: tensor<6xf32>):
    %d = stablehlo.constant dense<2.0> : tensor<6xf32>
    %1 = stablehlo.add %arg2, %arg3 : tensor<6xf32>
    %2 = stablehlo.multiply %1, %d : tensor<6xf32>
    stablehlo.return %2, %1 : tensor<6xf32>, tensor<6xf32>
  } : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>)
  %3 = stablehlo.add %0#0, %y : tensor<4x6xf32>
  return %3 : tensor<4x6xf32>
}
