// refused
// The position along "y", which is not manual, is 0 for the whole program and differs on the devices, so the result depends on the layout.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xi32>) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x","y"}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x","y"}]>] out_shardings=[<@mesh, [{"x","y"}]>] manual_axes={"x"} (%p: tensor<2xi32>) {
    %j = shardwise.axis_index <@mesh, {"y"}> : tensor<i32>
    %k = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %r = stablehlo.add %p, %k : tensor<2xi32>
    sdy.return %r : tensor<2xi32>
  } : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
