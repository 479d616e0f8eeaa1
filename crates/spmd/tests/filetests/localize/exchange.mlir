// The rounds of a direct exchange are permutations of the blocks that their receivers lack.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%two: tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}, {}]>},
    %order: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>},
    %cross: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>},
    %swap: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {}, {"x"}]>},
    tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>},
    tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>},
    tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
  return %two, %order, %cross, %swap : tensor<4x8x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}, {}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, %arg3: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {}, {"x"}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
    %0 = sdy.all_to_all [{"y"}: 0->1, {"x"}: 2->3] %arg0 out_sharding=<@mesh, [{}, {"y"}, {}, {"x"}]> : tensor<4x8x4x8xf32>
    %1 = sdy.all_to_all [{"y"}: 0->1, {"x"}: 0->1] %arg1 out_sharding=<@mesh, [{}, {"y", "x"}]> : tensor<8x8xf32>
    %2 = shardwise.exchange %arg2 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
    %3 = shardwise.exchange %arg3 out_sharding=<@mesh, [{}, {"x", "y"}]> : tensor<8x8xf32>
    return %0, %1, %2, %3 : tensor<4x8x4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<2x8x2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}, {}]>, shardwise.global_type = tensor<4x8x4x8xf32>}, %arg1: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>, shardwise.global_type = tensor<8x8xf32>}, %arg2: tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>, shardwise.global_type = tensor<8x8xf32>}, %arg3: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<8x8xf32>}) -> (tensor<4x4x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {}, {"x"}]>, shardwise.global_type = tensor<4x8x4x8xf32>}, tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>, shardwise.global_type = tensor<8x8xf32>}, tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>, shardwise.global_type = tensor<8x8xf32>}, tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>, shardwise.global_type = tensor<8x8xf32>}) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x8x2x8xf32>) -> tensor<2x2x4x2x2x4xf32>
    %1 = stablehlo.transpose %0, dims = [1, 4, 0, 2, 3, 5] : (tensor<2x2x4x2x2x4xf32>) -> tensor<2x2x2x4x2x4xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x2x2x4x2x4xf32>) -> tensor<4x2x4x2x4xf32>
    %3 = "stablehlo.all_to_all"(%2) <{concat_dimension = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<4x2x4x2x4xf32>) -> tensor<4x2x4x2x4xf32>
    %4 = stablehlo.reshape %3 : (tensor<4x2x4x2x4xf32>) -> tensor<2x2x2x4x2x4xf32>
    %5 = stablehlo.transpose %4, dims = [0, 2, 3, 1, 4, 5] : (tensor<2x2x2x4x2x4xf32>) -> tensor<2x2x4x2x2x4xf32>
    %6 = stablehlo.reshape %5 : (tensor<2x2x4x2x2x4xf32>) -> tensor<4x4x4x4xf32>
    %7 = stablehlo.reshape %arg1 : (tensor<2x8xf32>) -> tensor<2x2x2x2xf32>
    %8 = stablehlo.transpose %7, dims = [1, 2, 0, 3] : (tensor<2x2x2x2xf32>) -> tensor<2x2x2x2xf32>
    %9 = stablehlo.reshape %8 : (tensor<2x2x2x2xf32>) -> tensor<4x2x2xf32>
    %10 = "stablehlo.all_to_all"(%9) <{concat_dimension = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<4x2x2xf32>) -> tensor<4x2x2xf32>
    %11 = stablehlo.reshape %10 : (tensor<4x2x2xf32>) -> tensor<2x2x2x2xf32>
    %12 = stablehlo.transpose %11, dims = [1, 0, 2, 3] : (tensor<2x2x2x2xf32>) -> tensor<2x2x2x2xf32>
    %13 = stablehlo.reshape %12 : (tensor<2x2x2x2xf32>) -> tensor<8x2xf32>
    %14 = stablehlo.reshape %arg2 : (tensor<2x8xf32>) -> tensor<1x1x2x2x4xf32>
    %15 = stablehlo.constant dense<0.000000e+00> : tensor<1x2x2x1x4xf32>
    %16 = stablehlo.constant dense<0> : tensor<i32>
    %17 = shardwise.axis_index <@mesh, {"y"}> : tensor<i32>
    %18 = stablehlo.dynamic_slice %14, %16, %16, %16, %17, %16, sizes = [1, 1, 2, 1, 4] : (tensor<1x1x2x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1x2x1x4xf32>
    %19 = "stablehlo.collective_permute"(%18) {shardwise.from = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>, shardwise.to = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]>} : (tensor<1x1x2x1x4xf32>) -> tensor<1x1x2x1x4xf32>
    %20 = stablehlo.constant dense<0> : tensor<i32>
    %21 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %22 = stablehlo.dynamic_update_slice %15, %19, %20, %21, %20, %20, %20 : (tensor<1x2x2x1x4xf32>, tensor<1x1x2x1x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x2x1x4xf32>
    %23 = stablehlo.constant dense<0> : tensor<i32>
    %24 = shardwise.axis_index <@mesh, {"y"}> : tensor<i32>
    %25 = stablehlo.constant dense<1> : tensor<i32>
    %26 = stablehlo.constant dense<2> : tensor<i32>
    %27 = stablehlo.add %24, %25 : tensor<i32>
    %28 = stablehlo.remainder %27, %26 : tensor<i32>
    %29 = stablehlo.dynamic_slice %14, %23, %23, %23, %28, %23, sizes = [1, 1, 2, 1, 4] : (tensor<1x1x2x2x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1x2x1x4xf32>
    %30 = "stablehlo.collective_permute"(%29) <{source_target_pairs = dense<[[0, 1], [1, 3], [2, 0], [3, 2]]> : tensor<4x2xi64>}> {shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]>} : (tensor<1x1x2x1x4xf32>) -> tensor<1x1x2x1x4xf32>
    %31 = stablehlo.constant dense<0> : tensor<i32>
    %32 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %33 = stablehlo.constant dense<1> : tensor<i32>
    %34 = stablehlo.constant dense<2> : tensor<i32>
    %35 = stablehlo.add %32, %33 : tensor<i32>
    %36 = stablehlo.remainder %35, %34 : tensor<i32>
    %37 = stablehlo.dynamic_update_slice %22, %30, %31, %36, %31, %31, %31 : (tensor<1x2x2x1x4xf32>, tensor<1x1x2x1x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x2x1x4xf32>
    %38 = stablehlo.reshape %37 : (tensor<1x2x2x1x4xf32>) -> tensor<4x4xf32>
    %39 = stablehlo.reshape %arg3 : (tensor<4x8xf32>) -> tensor<4x2x2x2xf32>
    %40 = stablehlo.constant dense<0> : tensor<i32>
    %41 = shardwise.axis_index <@mesh, {"y"}> : tensor<i32>
    %42 = stablehlo.dynamic_slice %39, %40, %40, %41, %40, sizes = [4, 2, 1, 2] : (tensor<4x2x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x2x1x2xf32>
    %43 = stablehlo.reshape %42 : (tensor<4x2x1x2xf32>) -> tensor<4x2x2xf32>
    %44 = stablehlo.transpose %43, dims = [1, 0, 2] : (tensor<4x2x2xf32>) -> tensor<2x4x2xf32>
    %45 = "stablehlo.all_to_all"(%44) <{concat_dimension = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2x4x2xf32>) -> tensor<2x4x2xf32>
    %46 = stablehlo.reshape %45 : (tensor<2x4x2xf32>) -> tensor<8x2xf32>
    return %6, %13, %38, %46 : tensor<4x4x4x4xf32>, tensor<8x2xf32>, tensor<4x4xf32>, tensor<8x2xf32>
  }
}
