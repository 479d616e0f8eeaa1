// Padding holds the reducer's neutral element where it is reduced.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<5x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<f32>) -> (tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [0] : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<5x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"x"}>]>} : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}]> : tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, shardwise.global_type = tensor<5x3xf32>, shardwise.padding = [{dim = 0 : i64, size = 5 : i64}]}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : tensor<8x3xi64>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} dense<5> : tensor<8x3xi64>
    %2 = stablehlo.compare LT, %0, %1, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} : (tensor<8x3xi64>, tensor<8x3xi64>) -> tensor<8x3xi1>
    %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, size = 5 : i64}]]} dense<-0.000000e+00> : tensor<8x3xf32>
    %4 = stablehlo.select %2, %arg0, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, shardwise.padding = [[{dim = 0 : i64, holds = dense<-0.000000e+00> : tensor<f32>, size = 5 : i64}]]} : tensor<8x3xi1>, tensor<8x3xf32>
    %5 = stablehlo.reduce(%4 init: %arg1) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"x"}>]>} : (tensor<8x3xf32>, tensor<f32>) -> tensor<3xf32>
    %6 = sdy.all_reduce {"x"} %5 out_sharding=<@mesh, [{}]> : tensor<3xf32>
    return %6 : tensor<3xf32>
  }
}
