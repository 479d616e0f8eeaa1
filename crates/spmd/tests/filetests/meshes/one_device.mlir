// A sharding on a single device may have no dimensions: the value is replicated.
sdy.mesh @mesh = <[], device_ids=[0]>
func.func @main(%a: tensor<8x4xf32>) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, []>] out_shardings=[<@mesh, []>] manual_axes={} (%b: tensor<8x4xf32>) {
    %1 = stablehlo.tanh %b : tensor<8x4xf32>
    sdy.return %1 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = sdy.sharding_constraint %0 <@mesh, []> : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
// ---- expected
module {
  sdy.mesh @mesh_0 = <[]>
  sdy.mesh @mesh = <[], device_ids=[0]>
  func.func public @main(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh_0, [{}, {}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh_0, [{}, {}]>] out_shardings=[<@mesh_0, [{}, {}]>] manual_axes={} (%arg1: tensor<8x4xf32>) {
      %2 = stablehlo.tanh %arg1 : tensor<8x4xf32>
      sdy.return %2 : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh_0, [{}, {}]> : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
}
