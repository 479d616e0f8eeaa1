// calls: 2000
module {
 sdy.mesh @mesh = <["X"=8]>
 func.func public @main(%x: tensor<8x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) -> (tensor<8x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) {
  %c = stablehlo.constant dense<1.0> : tensor<8x128xf32>
  %0 = stablehlo.add %x, %c : tensor<8x128xf32>
  return %0 : tensor<8x128xf32>
 }
}
