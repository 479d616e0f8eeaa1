// runs
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = "chlo.constant"() {value = dense<[1, 2, 3]> : tensor<3xi32>} : () -> tensor<3xi32>
  %1 = stablehlo.add %x, %0 : tensor<3xi32>
  return %1 : tensor<3xi32>
}
