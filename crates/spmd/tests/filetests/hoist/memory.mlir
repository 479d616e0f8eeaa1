// A turn holds one gathered weight at a time. Holding one of them during the whole loop would take 64 MiB more, so that
// both are still gathered in each turn.
// not run: the weights are large
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<8x4096xf32>, %v: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4096xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<8x4096xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = sdy.sharding_constraint %v <@mesh, [{}, {}]> : tensor<4096x4096xf32>
    %3 = stablehlo.dot_general %x, %2, contracting_dims = [1] x [0] : (tensor<8x4096xf32>, tensor<4096x4096xf32>) -> tensor<8x4096xf32>
    %4 = sdy.sharding_constraint %w <@mesh, [{}, {}]> : tensor<4096x4096xf32>
    %5 = stablehlo.dot_general %3, %4, contracting_dims = [1] x [0] : (tensor<8x4096xf32>, tensor<4096x4096xf32>) -> tensor<8x4096xf32>
    stablehlo.return %1, %5 : tensor<i32>, tensor<8x4096xf32>
  }
  return %0#1 : tensor<8x4096xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<8x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
    %3:2 = stablehlo.while(%arg3 = %0, %arg4 = %arg0) : tensor<i32>, tensor<8x4096xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}, {}]>]>}
    cond {
      %4 = stablehlo.compare LT, %arg3, %2, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %4 = stablehlo.add %arg3, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %5 = sdy.all_gather [{"x"}, {}] %arg1 out_sharding=<@mesh, [{}, {}]> : tensor<4096x4096xf32>
      %6 = stablehlo.dot_general %arg4, %5, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x4096xf32>, tensor<4096x4096xf32>) -> tensor<8x4096xf32>
      %7 = sdy.all_gather [{"x"}, {}] %arg2 out_sharding=<@mesh, [{}, {}]> : tensor<4096x4096xf32>
      %8 = stablehlo.dot_general %6, %7, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x4096xf32>, tensor<4096x4096xf32>) -> tensor<8x4096xf32>
      stablehlo.return %4, %8 : tensor<i32>, tensor<8x4096xf32>
    }
    return %3#1 : tensor<8x4096xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<8x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<3> : tensor<i32>
    %3:2 = stablehlo.while(%arg3 = %0, %arg4 = %arg0) : tensor<i32>, tensor<8x4096xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}, {}]>]>}
    cond {
      %4 = stablehlo.compare LT, %arg3, %2, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %4 = stablehlo.add %arg3, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %5 = sdy.all_gather [{"x"}, {}] %arg1 out_sharding=<@mesh, [{}, {}]> {shardwise.in_each_turn} : tensor<4096x4096xf32>
      %6 = stablehlo.dot_general %arg4, %5, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x4096xf32>, tensor<4096x4096xf32>) -> tensor<8x4096xf32>
      %7 = sdy.all_gather [{"x"}, {}] %arg2 out_sharding=<@mesh, [{}, {}]> {shardwise.in_each_turn} : tensor<4096x4096xf32>
      %8 = stablehlo.dot_general %6, %7, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x4096xf32>, tensor<4096x4096xf32>) -> tensor<8x4096xf32>
      stablehlo.return %4, %8 : tensor<i32>, tensor<8x4096xf32>
    }
    return %3#1 : tensor<8x4096xf32>
  }
}
