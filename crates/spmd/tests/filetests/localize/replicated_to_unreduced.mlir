// The devices that do not hold the value hold negative zeros, which keep the sign of a zero when they are added.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>}, tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
  %0 = sdy.replicated_to_unreduced {"y"} %a out_sharding=<@mesh, [{"x"}], unreduced={"y"}> : tensor<8xf32>
  %1 = sdy.sharded_to_unreduced [{"x"}] %b out_sharding=<@mesh, [{}], unreduced={"x"}> : tensor<8xi32>
  return %0, %1 : tensor<8xf32>, tensor<8xi32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>}, tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
    %0 = sdy.replicated_to_unreduced {"y"} %arg0 out_sharding=<@mesh, [{"x"}], unreduced={"y"}> : tensor<8xf32>
    %1 = sdy.all_gather [{"x"}] %arg1 out_sharding=<@mesh, [{}]> : tensor<8xi32>
    %2 = sdy.replicated_to_unreduced {"x"} %1 out_sharding=<@mesh, [{}], unreduced={"x"}> : tensor<8xi32>
    return %0, %2 : tensor<8xf32>, tensor<8xi32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<8xf32>}, %arg1: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<8xi32>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>, shardwise.global_type = tensor<8xf32>}, tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>, shardwise.global_type = tensor<8xi32>}) {
    %0 = shardwise.axis_index <@mesh, {"y"}> : tensor<i32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.constant dense<-0.000000e+00> : tensor<4xf32>
    %4 = stablehlo.select %2, %arg0, %3 : tensor<i1>, tensor<4xf32>
    %5 = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4xi32>) -> tensor<8xi32>
    %6 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %7 = stablehlo.constant dense<0> : tensor<i32>
    %8 = stablehlo.compare EQ, %6, %7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9 = stablehlo.constant dense<0> : tensor<8xi32>
    %10 = stablehlo.select %8, %5, %9 : tensor<i1>, tensor<8xi32>
    return %4, %10 : tensor<4xf32>, tensor<8xi32>
  }
}
