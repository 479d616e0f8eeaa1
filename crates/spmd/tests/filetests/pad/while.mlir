// What a loop carries is padded in every turn, and its padding is replaced where a turn reduces it.
// With an Explicit axis, `reshard` does not choose other layouts.
sdy.mesh @mesh = <["x"=4, "e"=2]> {shardwise.axis_kinds = ["auto", "explicit"]}
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
  sdy.mesh @mesh = <["x"=4, "e"=2]> {shardwise.axis_kinds = ["auto", "explicit"]}
  func.func public @main(%arg0: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
    %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
    %4:2 = stablehlo.while(%arg1 = %1, %arg2 = %arg0) : tensor<i32>, tensor<5xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}]>]>, shardwise.arg_shardings = [[#sdy.sharding<@mesh, []>, #sdy.sharding<@mesh, [{"x"}]>], [#sdy.sharding<@mesh, []>, #sdy.sharding<@mesh, [{"x"}]>]]}
    cond {
      %5 = stablehlo.compare LT, %arg1, %3, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = stablehlo.add %arg1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = stablehlo.reduce(%arg2 init: %0) applies stablehlo.maximum across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x"}>]>} : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
      %7 = sdy.all_reduce max {"x"} %6 out_sharding=<@mesh, []> : tensor<f32>
      %8 = stablehlo.broadcast_in_dim %7, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<f32>) -> tensor<5xf32>
      %9 = stablehlo.subtract %arg2, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<5xf32>
      stablehlo.return %5, %9 : tensor<i32>, tensor<5xf32>
    }
    return %4#1 : tensor<5xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "e"=2]> {shardwise.axis_kinds = ["auto", "explicit"]}
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<5xf32>, shardwise.padding = [{dim = 0 : i64, size = 5 : i64}]}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<5xf32>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
    %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
    %4:2 = stablehlo.while(%arg1 = %1, %arg2 = %arg0) : tensor<i32>, tensor<8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}]>]>, shardwise.arg_padding = [["?", [{dim = 0 : i64, size = 5 : i64}]], ["?", [{dim = 0 : i64, size = 5 : i64}]]], shardwise.arg_shardings = [[#sdy.sharding<@mesh, []>, #sdy.sharding<@mesh, [{"x"}]>], [#sdy.sharding<@mesh, []>, #sdy.sharding<@mesh, [{"x"}]>]], shardwise.padding = ["?", [{dim = 0 : i64, size = 5 : i64}]]}
    cond {
      %5 = stablehlo.compare LT, %arg1, %3, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = stablehlo.add %arg1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : tensor<8xi64>
      %7 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} dense<5> : tensor<8xi64>
      %8 = stablehlo.compare LT, %6, %7, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
      %9 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} dense<0xFF800000> : tensor<8xf32>
      %10 = stablehlo.select %8, %arg2, %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>, shardwise.padding = [[{dim = 0 : i64, holds = dense<0xFF800000> : tensor<f32>, size = 5 : i64}]]} : tensor<8xi1>, tensor<8xf32>
      %11 = stablehlo.reduce(%10 init: %0) applies stablehlo.maximum across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x"}>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
      %12 = sdy.all_reduce max {"x"} %11 out_sharding=<@mesh, []> : tensor<f32>
      %13 = stablehlo.broadcast_in_dim %12, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : (tensor<f32>) -> tensor<8xf32>
      %14 = stablehlo.subtract %arg2, %13 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : tensor<8xf32>
      stablehlo.return %5, %14 : tensor<i32>, tensor<8xf32>
    }
    return %4#1 : tensor<8xf32>
  }
}
