// A per-device region without a result stays if it has effects.
// not run: no engine knows the custom call.
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @log(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  %3 = stablehlo.negate %2 : tensor<4xf32>
  return %a : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["axis_0"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}]>}) -> tensor<8xf32> {
    sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"axis_0"}]>] out_shardings=[] manual_axes={"axis_0"} (%arg1: tensor<4xf32>) {
      %0 = stablehlo.custom_call @log(%arg1) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
      sdy.return
    } : (tensor<8xf32>) -> ()
    return %arg0 : tensor<8xf32>
  }
}
