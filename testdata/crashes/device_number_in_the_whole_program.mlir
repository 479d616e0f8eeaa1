// refused
// The number of the device has no meaning outside of a manual computation, and the result depends on the layout.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xi32>) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x","y"}]>}) {
    %i = stablehlo.partition_id : tensor<ui32>
    %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>
    %k = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %r = stablehlo.add %a, %k : tensor<4xi32>
  return %r : tensor<4xi32>
}
