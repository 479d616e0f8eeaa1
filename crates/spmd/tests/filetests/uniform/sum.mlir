// A sum over the devices is equal on all of them.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<f32>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<8x4xf32>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<f32>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, shardwise.global_type = tensor<4xf32>}) {
    %0 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %4 = stablehlo.select %2, %arg1, %3 : tensor<i1>, tensor<f32>
    %5 = stablehlo.reduce(%arg0 init: %4) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %6 = "stablehlo.all_reduce"(%5) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %7 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %6 : tensor<4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<8x4xf32>, shardwise.varying = "{x}"}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<f32>, shardwise.varying = "{}"}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>, shardwise.global_type = tensor<4xf32>}) {
    %0 = shardwise.axis_index <@mesh, {"x"}> {shardwise.varying = ["{x}"]} : tensor<i32>
    %1 = stablehlo.constant {shardwise.varying = ["{}"]} dense<0> : tensor<i32>
    %2 = stablehlo.compare EQ, %0, %1, SIGNED {shardwise.varying = ["{x}"]} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.constant {shardwise.varying = ["{}"]} dense<-0.000000e+00> : tensor<f32>
    %4 = stablehlo.select %2, %arg1, %3 {shardwise.varying = ["{x}"]} : tensor<i1>, tensor<f32>
    %5 = stablehlo.reduce(%arg0 init: %4) across dimensions = [0] {shardwise.arg_varying = [["{x}", "{x}"]], shardwise.varying = ["{x}"]} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
     reducer(%arg2: tensor<f32>, %arg3: tensor<f32>) {
      %7 = stablehlo.add %arg2, %arg3 {shardwise.varying = ["{x}"]} : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }
    %6 = "stablehlo.all_reduce"(%5) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %7 = stablehlo.add %arg2, %arg3 {shardwise.varying = ["{}"]} : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) {shardwise.arg_varying = [["{}", "{}"]], shardwise.varying = ["{}"]} : (tensor<4xf32>) -> tensor<4xf32>
    return %6 : tensor<4xf32>
  }
}
