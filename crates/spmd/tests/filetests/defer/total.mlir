// The sum of a product is summed over devices as one number, and a product of a product after its second factor.
// With an Explicit axis, `reshard` does not choose other layouts, so that every sum is left to this pass.
sdy.mesh @mesh = <["x"=2, "e"=2]> {shardwise.axis_kinds = ["auto", "explicit"]}
func.func @main(%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %v: tensor<6x2xf32>) -> (tensor<f32>, tensor<2x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.dot_general %b, %a, contracting_dims = [0] x [1] : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
  %3 = stablehlo.add %2, %2 : tensor<6x6xf32>
  %4 = stablehlo.dot_general %3, %v, contracting_dims = [1] x [0] : (tensor<6x6xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
  %5 = stablehlo.transpose %4, dims = [1, 0] : (tensor<6x2xf32>) -> tensor<2x6xf32>
  return %1, %5 : tensor<f32>, tensor<2x6xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "e"=2]> {shardwise.axis_kinds = ["auto", "explicit"]}
  func.func public @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %2 = sdy.all_reduce {"x"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<6x6xf32>
    %3 = stablehlo.reduce(%2 init: %0) applies stablehlo.add across dimensions = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
    %4 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [0] x [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
    %5 = sdy.all_reduce {"x"} %4 out_sharding=<@mesh, [{}, {}]> : tensor<6x6xf32>
    %6 = stablehlo.add %5, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x6xf32>
    %7 = stablehlo.dot_general %6, %arg2, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x6xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
    %8 = stablehlo.transpose %7, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x2xf32>) -> tensor<2x6xf32>
    return %3, %8 : tensor<f32>, tensor<2x6xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "e"=2]> {shardwise.axis_kinds = ["auto", "explicit"]}
  func.func public @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %2 = stablehlo.reduce(%1 init: %0) applies stablehlo.add across dimensions = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x"}>]>} : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
    %3 = sdy.all_reduce {"x"} %2 out_sharding=<@mesh, []> : tensor<f32>
    %4 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [0] x [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<8x6xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
    %5 = stablehlo.add %4, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : tensor<6x6xf32>
    %6 = stablehlo.dot_general %5, %arg2, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x6xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
    %7 = sdy.all_reduce {"x"} %6 out_sharding=<@mesh, [{}, {}]> : tensor<6x2xf32>
    %8 = stablehlo.transpose %7, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x2xf32>) -> tensor<2x6xf32>
    return %3, %8 : tensor<f32>, tensor<2x6xf32>
  }
}
