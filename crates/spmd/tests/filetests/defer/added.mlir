// Three products are added before one sum over devices. In the second function result, one of the terms is no partial
// sum, so that it cannot be added before.
// With an Explicit axis, `reshard` does not choose other layouts, so that every sum is left to this pass.
sdy.mesh @mesh = <["x"=2, "y"=2, "e"=2]> {shardwise.axis_kinds = ["auto", "auto", "explicit"]}
func.func @main(%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %b: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %c: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %1 = stablehlo.negate %b : tensor<8x6xf32>
  %2 = stablehlo.dot_general %a, %1, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %3 = stablehlo.abs %b : tensor<8x6xf32>
  %4 = stablehlo.dot_general %a, %3, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %5 = stablehlo.add %0, %2 : tensor<6x6xf32>
  %6 = stablehlo.add %5, %4 : tensor<6x6xf32>
  %7 = stablehlo.multiply %b, %b : tensor<8x6xf32>
  %8 = stablehlo.dot_general %a, %7, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
  %9 = stablehlo.add %8, %c : tensor<6x6xf32>
  return %6, %9 : tensor<6x6xf32>, tensor<6x6xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "e"=2]> {shardwise.axis_kinds = ["auto", "auto", "explicit"]}
  func.func public @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %arg1: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{"y"}, {}]> : tensor<6x6xf32>
    %2 = stablehlo.negate %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x6xf32>
    %3 = stablehlo.dot_general %arg0, %2, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %4 = sdy.all_reduce {"x"} %3 out_sharding=<@mesh, [{"y"}, {}]> : tensor<6x6xf32>
    %5 = stablehlo.abs %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x6xf32>
    %6 = stablehlo.dot_general %arg0, %5, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %7 = sdy.all_reduce {"x"} %6 out_sharding=<@mesh, [{"y"}, {}]> : tensor<6x6xf32>
    %8 = stablehlo.add %1, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : tensor<6x6xf32>
    %9 = stablehlo.add %8, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : tensor<6x6xf32>
    %10 = stablehlo.multiply %arg1, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x6xf32>
    %11 = stablehlo.dot_general %arg0, %10, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %12 = sdy.all_reduce {"x"} %11 out_sharding=<@mesh, [{"y"}, {}]> : tensor<6x6xf32>
    %13 = stablehlo.add %12, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : tensor<6x6xf32>
    return %9, %13 : tensor<6x6xf32>, tensor<6x6xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "e"=2]> {shardwise.axis_kinds = ["auto", "auto", "explicit"]}
  func.func public @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %arg1: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %1 = stablehlo.negate %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x6xf32>
    %2 = stablehlo.dot_general %arg0, %1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %3 = stablehlo.abs %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x6xf32>
    %4 = stablehlo.dot_general %arg0, %3, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %5 = stablehlo.add %0, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : tensor<6x6xf32>
    %6 = stablehlo.add %5, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : tensor<6x6xf32>
    %7 = sdy.all_reduce {"x"} %6 out_sharding=<@mesh, [{"y"}, {}]> : tensor<6x6xf32>
    %8 = stablehlo.multiply %arg1, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<8x6xf32>
    %9 = stablehlo.dot_general %arg0, %8, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}], unreduced={"x"}>]>} : (tensor<6x8xf32>, tensor<8x6xf32>) -> tensor<6x6xf32>
    %10 = sdy.all_reduce {"x"} %9 out_sharding=<@mesh, [{"y"}, {}]> : tensor<6x6xf32>
    %11 = stablehlo.add %10, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : tensor<6x6xf32>
    return %7, %11 : tensor<6x6xf32>, tensor<6x6xf32>
  }
}
