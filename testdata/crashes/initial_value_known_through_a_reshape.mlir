// runs
// Two reductions by an unknown reducer share one decision, though only the first one's initial value is known (through a reshape) and may be used on each device.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c1 = stablehlo.reshape %c : (tensor<f32>) -> tensor<f32>
  %i1 = stablehlo.reshape %i : (tensor<f32>) -> tensor<f32>
  %0 = stablehlo.reduce(%a init: %c1) across dimensions = [0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<8xf32>
   reducer(%x: tensor<f32>, %y: tensor<f32>) {
    %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = stablehlo.select %p, %x, %y : tensor<i1>, tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  %1 = stablehlo.reduce(%b init: %i1) across dimensions = [0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<8xf32>
   reducer(%x: tensor<f32>, %y: tensor<f32>) {
    %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = stablehlo.select %p, %x, %y : tensor<i1>, tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
