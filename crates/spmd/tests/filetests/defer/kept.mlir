// Sums stay where they are if their elements have 16 bits, if a conversion makes them smaller, if they are multiplied
// element by element, and if they have two readers.
// With an Explicit axis, `reshard` does not choose other layouts, so that every sum is left to this pass.
sdy.mesh @mesh = <["x"=2, "y"=2, "e"=2]> {shardwise.axis_kinds = ["auto", "auto", "explicit"]}
func.func @main(%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %h: tensor<6x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %k: tensor<8x6xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %m: tensor<6x6xf32>) -> (tensor<bf16>, tensor<6x6xbf16>, tensor<f32>, tensor<f32>, tensor<6x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.dot_general %h, %k, contracting_dims = [1] x [0] : (tensor<6x8xbf16>, tensor<8x6xbf16>) -> tensor<6x6xbf16>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x6xbf16>, tensor<bf16>) -> tensor<bf16>
  %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %3 = stablehlo.convert %2 : (tensor<6x6xf32>) -> tensor<6x6xbf16>
  %4 = stablehlo.negate %b : tensor<8x6xf32>
  %5 = stablehlo.dot_general %a, %4, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %6 = stablehlo.multiply %5, %m : tensor<6x6xf32>
  %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
  %8 = stablehlo.abs %b : tensor<8x6xf32>
  %9 = stablehlo.dot_general %a, %8, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %10 = stablehlo.reduce(%9 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
  return %1, %3, %7, %10, %9 : tensor<bf16>, tensor<6x6xbf16>, tensor<f32>, tensor<f32>, tensor<6x6xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "e"=2]> {shardwise.axis_kinds = ["auto", "auto", "explicit"]}
  func.func public @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<6x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg3: tensor<8x6xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg4: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<bf16> {sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<6x6xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<bf16>
    %2 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xbf16>, tensor<8x6xbf16>) -> tensor<6x6xbf16>
    %3 = sdy.all_reduce {"x"} %2 out_sharding=<@mesh, [{}, {}]> : tensor<6x6xbf16>
    %4 = stablehlo.reduce(%3 init: %1) applies stablehlo.add across dimensions = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<6x6xbf16>, tensor<bf16>) -> tensor<bf16>
    %5 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %6 = sdy.all_reduce {"x"} %5 out_sharding=<@mesh, [{}, {}]> : tensor<6x6xf32>
    %7 = stablehlo.convert %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x6xf32>) -> tensor<6x6xbf16>
    %8 = stablehlo.negate %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x6xf32>
    %9 = stablehlo.dot_general %arg0, %8, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %10 = sdy.all_reduce {"x"} %9 out_sharding=<@mesh, [{}, {}]> : tensor<6x6xf32>
    %11 = stablehlo.multiply %10, %arg4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x6xf32>
    %12 = stablehlo.reduce(%11 init: %0) applies stablehlo.add across dimensions = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
    %13 = stablehlo.abs %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x6xf32>
    %14 = stablehlo.dot_general %arg0, %13, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %15 = sdy.all_reduce {"x"} %14 out_sharding=<@mesh, [{}, {}]> : tensor<6x6xf32>
    %16 = stablehlo.reduce(%15 init: %0) applies stablehlo.add across dimensions = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
    return %4, %7, %12, %16, %15 : tensor<bf16>, tensor<6x6xbf16>, tensor<f32>, tensor<f32>, tensor<6x6xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "e"=2]> {shardwise.axis_kinds = ["auto", "auto", "explicit"]}
  func.func public @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<6x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg3: tensor<8x6xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg4: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<bf16> {sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<6x6xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0.000000e+00> : tensor<bf16>
    %2 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xbf16>, tensor<8x6xbf16>) -> tensor<6x6xbf16>
    %3 = sdy.all_reduce {"x"} %2 out_sharding=<@mesh, [{}, {}]> : tensor<6x6xbf16>
    %4 = stablehlo.reduce(%3 init: %1) applies stablehlo.add across dimensions = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<6x6xbf16>, tensor<bf16>) -> tensor<bf16>
    %5 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %6 = sdy.all_reduce {"x"} %5 out_sharding=<@mesh, [{}, {}]> : tensor<6x6xf32>
    %7 = stablehlo.convert %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<6x6xf32>) -> tensor<6x6xbf16>
    %8 = stablehlo.negate %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x6xf32>
    %9 = stablehlo.dot_general %arg0, %8, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %10 = sdy.all_reduce {"x"} %9 out_sharding=<@mesh, [{}, {}]> : tensor<6x6xf32>
    %11 = stablehlo.multiply %10, %arg4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : tensor<6x6xf32>
    %12 = stablehlo.reduce(%11 init: %0) applies stablehlo.add across dimensions = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
    %13 = stablehlo.abs %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x6xf32>
    %14 = stablehlo.dot_general %arg0, %13, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %15 = sdy.all_reduce {"x"} %14 out_sharding=<@mesh, [{}, {}]> : tensor<6x6xf32>
    %16 = stablehlo.reduce(%15 init: %0) applies stablehlo.add across dimensions = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
    return %4, %7, %12, %16, %15 : tensor<bf16>, tensor<6x6xbf16>, tensor<f32>, tensor<f32>, tensor<6x6xf32>
  }
}
