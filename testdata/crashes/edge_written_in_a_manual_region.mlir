// runs
sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(%x: tensor<4x4xi32>, %y: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %0 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"data", ?}, {?}]>, <@mesh, [{"data", ?}, {?}]>] out_shardings=[<@mesh, [{"data", ?}, {?}]>] manual_axes={"data"} (%a: tensor<2x4xi32>, %b: tensor<2x4xi32>) {
    %edge = sdy.data_flow_edge %a sharding=<@mesh, [{?}, {?}]> : tensor<2x4xi32>
    %sum = stablehlo.add %edge, %b : tensor<2x4xi32>
    %laid = sdy.sharding_constraint %sum <@mesh, [{?}, {"model", ?}]> : tensor<2x4xi32>
    sdy.return %laid : tensor<2x4xi32>
  } : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  return %0 : tensor<4x4xi32>
}
