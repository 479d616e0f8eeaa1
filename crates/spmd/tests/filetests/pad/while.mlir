// What a loop carries is padded in every turn, and its padding is replaced where a turn reduces it.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %none = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<5xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.reduce(%x init: %none) applies stablehlo.maximum across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %4 = stablehlo.subtract %x, %3 : tensor<5xf32>
    stablehlo.return %1, %4 : tensor<i32>, tensor<5xf32>
  }
  return %0#1 : tensor<5xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
    %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
    %4 = sdy.all_gather [{"x"}] %arg0 out_sharding=<@mesh, [{}]> : tensor<5xf32>
    %5:2 = stablehlo.while(%arg1 = %1, %arg2 = %4) : tensor<i32>, tensor<5xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}]>]>, shardwise.arg_shardings = [[#sdy.sharding<@mesh, []>, #sdy.sharding<@mesh, [{}]>], [#sdy.sharding<@mesh, []>, #sdy.sharding<@mesh, [{}]>]]}
    cond {
      %7 = stablehlo.compare LT, %arg1, %3, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7 = stablehlo.add %arg1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %8 = stablehlo.reduce(%arg2 init: %0) applies stablehlo.maximum across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
      %9 = stablehlo.broadcast_in_dim %8, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<f32>) -> tensor<5xf32>
      %10 = stablehlo.subtract %arg2, %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xf32>
      stablehlo.return %7, %10 : tensor<i32>, tensor<5xf32>
    }
    %6 = sdy.all_slice [{"x"}] %5#1 out_sharding=<@mesh, [{"x"}]> : tensor<5xf32>
    return %6 : tensor<5xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<5xf32>, shardwise.padding = [{dim = 0 : i64, size = 5 : i64}]}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<5xf32>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
    %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
    %4 = sdy.all_gather [{"x"}] %arg0 out_sharding=<@mesh, [{}]> {shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : tensor<8xf32>
    %5 = stablehlo.slice %4 [0:5] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xf32>) -> tensor<5xf32>
    %6:2 = stablehlo.while(%arg1 = %1, %arg2 = %5) : tensor<i32>, tensor<5xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}]>]>, shardwise.arg_shardings = [[#sdy.sharding<@mesh, []>, #sdy.sharding<@mesh, [{}]>], [#sdy.sharding<@mesh, []>, #sdy.sharding<@mesh, [{}]>]]}
    cond {
      %10 = stablehlo.compare LT, %arg1, %3, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %10 = stablehlo.add %arg1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %11 = stablehlo.reduce(%arg2 init: %0) applies stablehlo.maximum across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
      %12 = stablehlo.broadcast_in_dim %11, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<f32>) -> tensor<5xf32>
      %13 = stablehlo.subtract %arg2, %12 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<5xf32>
      stablehlo.return %10, %13 : tensor<i32>, tensor<5xf32>
    }
    %7 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.pad %6#1, %7, low = [0], high = [3], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>, shardwise.padding = [[{dim = 0 : i64, holds = dense<0.000000e+00> : tensor<f32>, size = 5 : i64}]]} : (tensor<5xf32>, tensor<f32>) -> tensor<8xf32>
    %9 = sdy.all_slice [{"x"}] %8 out_sharding=<@mesh, [{"x"}]> {shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : tensor<8xf32>
    return %9 : tensor<8xf32>
  }
}
