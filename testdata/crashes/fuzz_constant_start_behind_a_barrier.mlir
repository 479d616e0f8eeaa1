// runs
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<i32>) -> (tensor<13x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  %c = stablehlo.constant dense<2> : tensor<i32>
  %b = sdy.propagation_barrier %c allowed_direction=FORWARD : tensor<i32>
  %s = stablehlo.custom_call @annotate_device_placement(%b) : (tensor<i32>) -> tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %s, %i, sizes = [13, 2] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<13x2xf32>
  return %0 : tensor<13x2xf32>
}
