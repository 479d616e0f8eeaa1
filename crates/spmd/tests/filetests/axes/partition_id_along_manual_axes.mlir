// The number of the device is only read for the position along "y", which is manual, so it may differ along "x".
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xi32>) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y","x"}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"y"}]>] manual_axes={"y"} (%p: tensor<2xi32>) {
    %i = stablehlo.partition_id : tensor<ui32>
    %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>
    %n = stablehlo.constant dense<2> : tensor<i32>
    %m = stablehlo.remainder %j, %n : tensor<i32>
    %k = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %r = stablehlo.add %p, %k : tensor<2xi32>
    sdy.return %r : tensor<2xi32>
  } : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
