module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<4x6xf32>) {
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[2,2]<=[4]}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8x4xf32>) -> tensor<4x2xf32>
    %2 = stablehlo.custom_call @Sharding(%b) {mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %c = stablehlo.constant dense<2.0> : tensor<4x6xf32>
    %4 = func.call @shmap_body(%1, %3) : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %5 = stablehlo.multiply %4, %c : tensor<4x6xf32>
    %6 = stablehlo.custom_call @Sharding(%5) {mhlo.sharding = "{manual}"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %7 = stablehlo.custom_call @SPMDShardToFullShape(%6) {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : (tensor<4x6xf32>) -> tensor<8x6xf32>
    %8 = stablehlo.multiply %b, %c : tensor<4x6xf32>
    return %7, %8 : tensor<8x6xf32>, tensor<4x6xf32>
  }
  func.func private @shmap_body(%a: tensor<4x2xf32>, %b: tensor<2x6xf32>) -> tensor<4x6xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
}
// ---- expected
// before
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["axis_0"=2, "axis_1"=2]>
  func.func public @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<4x6xf32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"axis_0"}, {"axis_1"}]> : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{"axis_1"}, {}]> : tensor<4x6xf32>
    %2 = stablehlo.constant dense<2.000000e+00> : tensor<4x6xf32>
    %3 = sdy.manual_computation(%0, %1) in_shardings=[<@mesh, [{"axis_0"}, {"axis_1"}]>, <@mesh, [{"axis_1"}, {}]>] out_shardings=[<@mesh, [{"axis_0"}, {}]>] manual_axes={"axis_0", "axis_1"} (%arg2: tensor<4x2xf32>, %arg3: tensor<2x6xf32>) {
      %5 = func.call @shmap_body(%arg2, %arg3) : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
      %6 = stablehlo.constant dense<2.000000e+00> : tensor<4x6xf32>
      %7 = stablehlo.multiply %5, %6 : tensor<4x6xf32>
      sdy.return %7 : tensor<4x6xf32>
    } : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %4 = stablehlo.multiply %arg1, %2 : tensor<4x6xf32>
    return %3, %4 : tensor<8x6xf32>, tensor<4x6xf32>
  }
  func.func private @shmap_body(%arg0: tensor<4x2xf32>, %arg1: tensor<2x6xf32>) -> tensor<4x6xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
}
// after
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["axis_0"=2, "axis_1"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {"axis_1"}]>}, %arg1: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1"}, {}]>}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0", ?}, {?}]>}, tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_1", ?}, {?}]>}) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"axis_0"}, {"axis_1"}]> : tensor<8x4xf32>
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{"axis_1"}, {}]> : tensor<4x6xf32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"axis_1", ?}, {?}]>]>} dense<2.000000e+00> : tensor<4x6xf32>
    %3 = sdy.manual_computation(%0, %1) in_shardings=[<@mesh, [{"axis_0"}, {"axis_1"}]>, <@mesh, [{"axis_1"}, {}], replicated={"axis_0"}>] out_shardings=[<@mesh, [{"axis_0"}, {}], replicated={"axis_1"}>] manual_axes={"axis_0", "axis_1"} (%arg2: tensor<4x2xf32>, %arg3: tensor<2x6xf32>) {
      %5 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
      %6 = "stablehlo.all_reduce"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %9 = stablehlo.add %arg4, %arg5 : tensor<f32>
        stablehlo.return %9 : tensor<f32>
      }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %7 = stablehlo.constant dense<2.000000e+00> : tensor<4x6xf32>
      %8 = stablehlo.multiply %6, %7 : tensor<4x6xf32>
      sdy.return %8 : tensor<4x6xf32>
    } : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %4 = stablehlo.multiply %arg1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"axis_1", ?}, {?}]>]>} : tensor<4x6xf32>
    return %3, %4 : tensor<8x6xf32>, tensor<4x6xf32>
  }
}
