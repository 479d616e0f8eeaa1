// refused
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, []>] out_shardings=[<@mesh, []>] manual_axes={"y"} (%a: tensor<i32>) {
    %1 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
    ^bb0(%b: tensor<i32>, %c: tensor<i32>):
      %s = stablehlo.add %b, %c : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<i32>) -> (tensor<i32>)
    sdy.return %1 : tensor<i32>
  } : (tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}
