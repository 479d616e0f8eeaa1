sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @marks(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {?}]> {note = "a"} : tensor<8x4xf32>
  %1 = "sdy.reshard"(%0) <{sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = sdy.data_flow_edge %1 : tensor<8x4xf32>
  %3 = sdy.data_flow_edge %2 sharding=<@mesh, [{"x"}, {}]> : tensor<8x4xf32>
  %4 = sdy.propagation_barrier %3 allowed_direction=BACKWARD : tensor<8x4xf32>
  %5 = "sdy.propagation_barrier"(%4) <{allowed_direction = 1 : i32}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  sdy.sharding_group %5 group_id=3 : tensor<8x4xf32>
  %6 = sdy.constant dense<2.0> : tensor<8x4xf32>
  return %6 : tensor<8x4xf32>
}
func.func @collectives(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = sdy.all_gather [{"x":(2)2}, {}] %arg0 out_sharding=<@mesh, [{"x":(1)2}, {}]> : tensor<8x4xf32>
  %1 = "sdy.all_slice"(%0) <{out_sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"y"}]>, slicing_axes = #sdy<list_of_axis_ref_lists[{}, {"y"}]>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = "sdy.all_to_all"(%1) <{out_sharding = #sdy.sharding<@mesh, [{"x":(1)2, "y"}, {}]>, params = #sdy<all_to_all_param_list[{"y"}: 1->0]>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{"y", "x":(1)2}, {}]> : tensor<8x4xf32>
  %4 = "sdy.all_reduce"(%3) <{out_sharding = #sdy.sharding<@mesh, [{"y", "x":(1)2}, {}]>, reduction_axes = #sdy<axis_ref_list{"x":(2)2}>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = sdy.all_reduce max {"x":(2)2} %4 out_sharding=<@mesh, [{"y", "x":(1)2}, {}]> : tensor<8x4xf32>
  %6 = sdy.reduce_scatter [{}, {"x":(2)2}] %5 out_sharding=<@mesh, [{"y", "x":(1)2}, {"x":(2)2}]> : tensor<8x4xf32>
  return
}
func.func @regions(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {?}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x4xf32>) {
    %1 = stablehlo.abs %arg1 : tensor<2x4xf32>
    sdy.return %1 : tensor<2x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = "sdy.manual_computation"(%0) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}> ({
  ^bb0(%arg1: tensor<2x4xf32>):
    sdy.return %arg1 : tensor<2x4xf32>
  }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
    sdy.return
  } : () -> ()
  %2 = sdy.named_computation<"f">(%1) in_shardings=[<@mesh, [{"x"}, {}]>] (%arg1: tensor<8x4xf32>) {
    sdy.return %arg1 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = sdy.named_computation<"g">(%2) out_shardings=[<@mesh, [{}, {"y"}]>] (%arg1: tensor<8x4xf32>) {
    sdy.return %arg1 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2, %3 : tensor<8x4xf32>, tensor<8x4xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @marks(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}, {?}]> {note = "a"} : tensor<8x4xf32>
    %1 = sdy.reshard %0 <@mesh, [{}, {"y"}]> : tensor<8x4xf32>
    %2 = sdy.data_flow_edge %1 : tensor<8x4xf32>
    %3 = sdy.data_flow_edge %2 sharding=<@mesh, [{"x"}, {}]> : tensor<8x4xf32>
    %4 = sdy.propagation_barrier %3 allowed_direction=BACKWARD : tensor<8x4xf32>
    %5 = sdy.propagation_barrier %4 allowed_direction=FORWARD : tensor<8x4xf32>
    sdy.sharding_group %5 group_id=3 : tensor<8x4xf32>
    %6 = sdy.constant dense<2.000000e+00> : tensor<8x4xf32>
    return %6 : tensor<8x4xf32>
  }
  func.func public @collectives(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = sdy.all_gather [{"x":(2)2}, {}] %arg0 out_sharding=<@mesh, [{"x":(1)2}, {}]> : tensor<8x4xf32>
    %1 = sdy.all_slice [{}, {"y"}] %0 out_sharding=<@mesh, [{"x":(1)2}, {"y"}]> : tensor<8x4xf32>
    %2 = sdy.all_to_all [{"y"}: 1->0] %1 out_sharding=<@mesh, [{"x":(1)2, "y"}, {}]> : tensor<8x4xf32>
    %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{"y", "x":(1)2}, {}]> : tensor<8x4xf32>
    %4 = sdy.all_reduce {"x":(2)2} %3 out_sharding=<@mesh, [{"y", "x":(1)2}, {}]> : tensor<8x4xf32>
    %5 = sdy.all_reduce max {"x":(2)2} %4 out_sharding=<@mesh, [{"y", "x":(1)2}, {}]> : tensor<8x4xf32>
    %6 = sdy.reduce_scatter [{}, {"x":(2)2}] %5 out_sharding=<@mesh, [{"y", "x":(1)2}, {"x":(2)2}]> : tensor<8x4xf32>
    return
  }
  func.func public @regions(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {?}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x4xf32>) {
      %4 = stablehlo.abs %arg1 : tensor<2x4xf32>
      sdy.return %4 : tensor<2x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<2x4xf32>) {
      sdy.return %arg1 : tensor<2x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
      sdy.return
    } : () -> ()
    %2 = sdy.named_computation<"f">(%1) in_shardings=[<@mesh, [{"x"}, {}]>] (%arg1: tensor<8x4xf32>) {
      sdy.return %arg1 : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %3 = sdy.named_computation<"g">(%2) out_shardings=[<@mesh, [{}, {"y"}]>] (%arg1: tensor<8x4xf32>) {
      sdy.return %arg1 : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %2, %3 : tensor<8x4xf32>, tensor<8x4xf32>
  }
}
