// The counter of a loop is equal everywhere; what it carries is split.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %n: tensor<i32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<8xf32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %c : tensor<i32>
    %2 = stablehlo.add %x, %x : tensor<8xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<8xf32>
  }
  return %0#1 : tensor<8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<8xf32>}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<i32>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>, shardwise.global_type = tensor<8xf32>}) {
    %0 = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = "stablehlo.collective_permute"(%arg0) {shardwise.from = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>, shardwise.to = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]>} : (tensor<4xf32>) -> tensor<4xf32>
    %3:2 = stablehlo.while(%arg2 = %1, %arg3 = %2) : tensor<i32>, tensor<4xf32>
    cond {
      %4 = stablehlo.constant dense<3> : tensor<i32>
      %5 = stablehlo.compare LT, %arg2, %4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %4 = stablehlo.add %arg2, %0 : tensor<i32>
      %5 = stablehlo.add %arg3, %arg3 : tensor<4xf32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<4xf32>
    }
    return %3#1 : tensor<4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<8xf32>, shardwise.varying = "{x}"}, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<i32>, shardwise.varying = "{}"}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>, shardwise.global_type = tensor<8xf32>}) {
    %0 = stablehlo.constant {shardwise.varying = ["{}"]} dense<1> : tensor<i32>
    %1 = stablehlo.constant {shardwise.varying = ["{}"]} dense<0> : tensor<i32>
    %2 = "stablehlo.collective_permute"(%arg0) {shardwise.from = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y">]>, shardwise.to = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "x">]>, shardwise.varying = ["{y}"]} : (tensor<4xf32>) -> tensor<4xf32>
    %3:2 = stablehlo.while(%arg2 = %1, %arg3 = %2) : tensor<i32>, tensor<4xf32> attributes {shardwise.arg_varying = [["{}", "{y}"], ["{}", "{y}"]], shardwise.varying = ["{}", "{y}"]}
    cond {
      %4 = stablehlo.constant {shardwise.varying = ["{}"]} dense<3> : tensor<i32>
      %5 = stablehlo.compare LT, %arg2, %4, SIGNED {shardwise.varying = ["{}"]} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %4 = stablehlo.add %arg2, %0 {shardwise.varying = ["{}"]} : tensor<i32>
      %5 = stablehlo.add %arg3, %arg3 {shardwise.varying = ["{y}"]} : tensor<4xf32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<4xf32>
    }
    return %3#1 : tensor<4xf32>
  }
}
