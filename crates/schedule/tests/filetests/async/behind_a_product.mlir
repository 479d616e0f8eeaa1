// v5e:2x2 auto
// not run: the arrays are large
// The gather has several users, so it is not cut. It is hidden behind the product of other values.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.negate %a : tensor<1024x1024xf32>
  %1 = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0]
      : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
  return %1, %0 : tensor<4096x1024xf32>, tensor<1024x1024xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<256x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<1024x1024xf32>}, %arg1: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<4096x1024xf32>}, %arg2: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, shardwise.global_type = tensor<1024x1024xf32>}) -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<4096x1024xf32>}, tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, shardwise.global_type = tensor<1024x1024xf32>}) {
    %0 = stablehlo.negate %arg0 : tensor<256x1024xf32>
    %1 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %2 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<256x1024xf32>) -> tensor<1024x1024xf32>
    return %1, %2 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<256x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<1024x1024xf32>}, %arg1: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<4096x1024xf32>}, %arg2: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, shardwise.global_type = tensor<1024x1024xf32>}) -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<4096x1024xf32>}, tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>, shardwise.global_type = tensor<1024x1024xf32>}) {
    %0 = stablehlo.negate %arg0 : tensor<256x1024xf32>
    %1 = "stablehlo.async_start"(%0) ({
    ^bb0(%arg3: tensor<256x1024xf32>):
      %4 = "stablehlo.all_gather"(%arg3) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<256x1024xf32>) -> tensor<1024x1024xf32>
      stablehlo.return %4 : tensor<1024x1024xf32>
    }) : (tensor<256x1024xf32>) -> !stablehlo.future<tensor<1024x1024xf32>>
    %2 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0] : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %3 = "stablehlo.async_done"(%1) : (!stablehlo.future<tensor<1024x1024xf32>>) -> tensor<1024x1024xf32>
    return %2, %3 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
}
