// runs
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<3x7xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, %u: tensor<3x4xi32>, %s: tensor<2xui8>) -> (tensor<3x7xi32>, tensor<3x7xi32>) {
  %far = stablehlo.constant dense<4> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %far, %far : (tensor<3x7xi32>, tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> tensor<3x7xi32>
  %widest = stablehlo.constant dense<255> : tensor<ui8>
  %1 = stablehlo.dynamic_update_slice %x, %u, %widest, %widest : (tensor<3x7xi32>, tensor<3x4xi32>, tensor<ui8>, tensor<ui8>) -> tensor<3x7xi32>
  return %0, %1 : tensor<3x7xi32>, tensor<3x7xi32>
}
