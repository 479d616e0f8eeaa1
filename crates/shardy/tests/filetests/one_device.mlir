// run: sdy-lift-inlined-meshes,sdy-import-func-calls,sdy-basic-propagate
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %a : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <mesh<[], device_ids=[2]>, []> : tensor<8x8xf32>
  %2 = call @f(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
func.func private @f(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<[], device_ids=[2]>, []>}) -> tensor<8x8xf32> {
  %0 = stablehlo.negate %a : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  sdy.mesh @maximal_mesh_2 = <[], device_ids=[2]>
  func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.add %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@maximal_mesh_2, []> : tensor<8x8xf32>
    %2 = sdy.named_computation<"f">(%1) (%arg1: tensor<8x8xf32>) {
      %4 = sdy.data_flow_edge %arg1 : tensor<8x8xf32>
      %5 = stablehlo.negate %4 : tensor<8x8xf32>
      sdy.return %5 : tensor<8x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = sdy.data_flow_edge %2 : tensor<8x8xf32>
    return %3 : tensor<8x8xf32>
  }
}
