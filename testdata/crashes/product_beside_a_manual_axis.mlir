// runs
// A product in a manual computation is not split over the manual axis, which no tensor has: the devices along it have other values.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, %b: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> tensor<16x32xf32> {
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{?}, {"y", ?}]>, <@mesh, [{"y", ?}, {?}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%c: tensor<16x64xf32>, %d: tensor<64x32xf32>) {
    %i = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %g = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %h = stablehlo.broadcast_in_dim %g, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %e = stablehlo.add %h, %d : tensor<64x32xf32>
    %1 = stablehlo.dot_general %c, %e, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
    %2 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0,4],[1,5],[2,6],[3,7]]> : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
      ^bb0(%q: tensor<f32>, %r: tensor<f32>):
        %s = stablehlo.add %q, %r : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    sdy.return %2 : tensor<16x32xf32>
  } : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  return %0 : tensor<16x32xf32>
}
