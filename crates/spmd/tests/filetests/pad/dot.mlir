// Padding of both sides is zero along the contracted dimension.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<5x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<3x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<3x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<5x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<3x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<3x2xf32>
    return %1 : tensor<3x2xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>, shardwise.global_type = tensor<3x5xf32>, shardwise.padding = [{dim = 1 : i64, size = 5 : i64}]}, %arg1: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<5x2xf32>, shardwise.padding = [{dim = 0 : i64, size = 5 : i64}]}) -> (tensor<3x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>, shardwise.padding = [[{dim = 1 : i64, size = 5 : i64}]]} : tensor<3x8xi64>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>, shardwise.padding = [[{dim = 1 : i64, size = 5 : i64}]]} dense<5> : tensor<3x8xi64>
    %2 = stablehlo.compare LT, %0, %1, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>, shardwise.padding = [[{dim = 1 : i64, size = 5 : i64}]]} : (tensor<3x8xi64>, tensor<3x8xi64>) -> tensor<3x8xi1>
    %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>, shardwise.padding = [[{dim = 1 : i64, size = 5 : i64}]]} dense<0.000000e+00> : tensor<3x8xf32>
    %4 = stablehlo.select %2, %arg0, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>, shardwise.padding = [[{dim = 1 : i64, holds = dense<0.000000e+00> : tensor<f32>, size = 5 : i64}]]} : tensor<3x8xi1>, tensor<3x8xf32>
    %5 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : tensor<8x2xi64>
    %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} dense<5> : tensor<8x2xi64>
    %7 = stablehlo.compare LT, %5, %6, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : (tensor<8x2xi64>, tensor<8x2xi64>) -> tensor<8x2xi1>
    %8 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} dense<0.000000e+00> : tensor<8x2xf32>
    %9 = stablehlo.select %7, %arg1, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, holds = dense<0.000000e+00> : tensor<f32>, size = 5 : i64}]]} : tensor<8x2xi1>, tensor<8x2xf32>
    %10 = stablehlo.dot_general %4, %9, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<3x8xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
    %11 = sdy.all_reduce {"x"} %10 out_sharding=<@mesh, [{}, {}]> : tensor<3x2xf32>
    return %11 : tensor<3x2xf32>
  }
}
