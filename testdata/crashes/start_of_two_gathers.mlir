// runs
// A start holds a gather of two operands, which the host refuses.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a0: tensor<4xf32>, %a1: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %m:2 = sdy.manual_computation(%a0, %a1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{}]>, <@mesh, [{}]>] manual_axes={"x", "y"} (%p0: tensor<2xf32>, %p1: tensor<2xi32>) {
    %f = "stablehlo.async_start"(%p0,%p1) ({
     ^bb0(%q: tensor<2xf32>, %q1 : tensor<2xi32>):
      %v:2 = "stablehlo.all_gather"(%q,%q1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2],[1, 3]]> : tensor<2x2xi64>, use_global_device_ids, all_gather_dim = 0 : i64}> : (tensor<2xf32>, tensor<2xi32>) -> (tensor<4xf32>, tensor<4xi32>)
      stablehlo.return %v#0, %v#1 : tensor<4xf32>, tensor<4xi32>
    }) : (tensor<2xf32>, tensor<2xi32>) -> !stablehlo.future<tensor<4xf32>, tensor<4xi32>>
    %r:2 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xf32>, tensor<4xi32>>) -> (tensor<4xf32>, tensor<4xi32>)
    sdy.return %r#0, %r#1 : tensor<4xf32>, tensor<4xi32>
  } : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  return %m#0, %m#1 : tensor<4xf32>, tensor<4xi32>
}
