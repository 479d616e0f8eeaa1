// runs
// Three slices of one padded array send the same three elements to the next device, and each takes its part of them.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<2x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<2x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %z = stablehlo.constant dense<7> : tensor<i32>
  %p = stablehlo.pad %a, %z, low = [0, 3], high = [0, 0], interior = [0, 0] : (tensor<2x8xi32>, tensor<i32>) -> tensor<2x11xi32>
  %0 = stablehlo.slice %p [0:2, 0:8] : (tensor<2x11xi32>) -> tensor<2x8xi32>
  %1 = stablehlo.slice %p [0:2, 1:9] : (tensor<2x11xi32>) -> tensor<2x8xi32>
  %2 = stablehlo.slice %p [0:2, 2:10] : (tensor<2x11xi32>) -> tensor<2x8xi32>
  %3 = stablehlo.multiply %0, %1 : tensor<2x8xi32>
  %4 = stablehlo.subtract %3, %2 : tensor<2x8xi32>
  return %4 : tensor<2x8xi32>
}
