// runs
// An index without a branch selects the last one. So all devices take the branch whose sum is over "x".
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a0: tensor<4xi32>) -> (tensor<8xi32>) {
  %m = sdy.manual_computation(%a0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x","y"}]>] manual_axes={"x", "y"} (%p0: tensor<2xi32>) {
    %n = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %k = stablehlo.add %n, %one : tensor<i32>
    %w = "stablehlo.case"(%k) ({
      stablehlo.return %p0 : tensor<2xi32>
    }, {
      %u = "stablehlo.all_reduce"(%p0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%b: tensor<i32>, %c: tensor<i32>):
        %s = stablehlo.add %b, %c : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<2xi32>) -> tensor<2xi32>
      stablehlo.return %u : tensor<2xi32>
    }) : (tensor<i32>) -> tensor<2xi32>
    sdy.return %w : tensor<2xi32>
  } : (tensor<4xi32>) -> (tensor<8xi32>)
  return %m : tensor<8xi32>
}
