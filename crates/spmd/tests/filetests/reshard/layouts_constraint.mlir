// A constraint of the program is kept, although a product would run as its operands are.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.negate %a : tensor<16x8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"x"}]> : tensor<16x8xf32>
  %2 = stablehlo.abs %1 : tensor<16x8xf32>
  %3 = stablehlo.dot_general %2, %a, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"x"}]> : tensor<16x8xf32>
    %2 = stablehlo.abs %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x", ?}]>]>} : tensor<16x8xf32>
    %3 = stablehlo.dot_general %2, %arg0, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    return %3 : tensor<8x8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{}, {"x"}]> : tensor<16x8xf32>
    %1 = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x8xf32>
    %2 = stablehlo.abs %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x8xf32>
    %3 = sdy.reshard %2 <@mesh, [{"x"}, {}]> : tensor<16x8xf32>
    %4 = stablehlo.dot_general %3, %arg0, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %5 = sdy.all_reduce {"x"} %4 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    return %5 : tensor<8x8xf32>
  }
}
