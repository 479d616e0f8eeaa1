// Each user of the table gets a copy from propagation. Copies with one layout are one value again.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<6xf32>) -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<6xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<6xi32>
  %t = stablehlo.convert %i : (tensor<6xi32>) -> tensor<6xf32>
  %s = stablehlo.sine %t : tensor<6xf32>
  %m = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
  %0 = stablehlo.multiply %a, %m : tensor<4x6xf32>
  %1 = stablehlo.add %0, %m : tensor<4x6xf32>
  %2 = stablehlo.multiply %b, %s : tensor<6xf32>
  return %1, %2 : tensor<4x6xf32>, tensor<6xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<6xf32>) -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<6xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<6xi32>
    %1 = stablehlo.iota dim = 0 : tensor<6xi32>
    %2 = stablehlo.iota dim = 0 : tensor<6xi32>
    %3 = stablehlo.convert %0 : (tensor<6xi32>) -> tensor<6xf32>
    %4 = stablehlo.convert %1 : (tensor<6xi32>) -> tensor<6xf32>
    %5 = stablehlo.convert %2 : (tensor<6xi32>) -> tensor<6xf32>
    %6 = stablehlo.sine %3 : tensor<6xf32>
    %7 = stablehlo.sine %4 : tensor<6xf32>
    %8 = stablehlo.sine %5 : tensor<6xf32>
    %9 = stablehlo.broadcast_in_dim %6, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<6xf32>) -> tensor<4x6xf32>
    %10 = stablehlo.broadcast_in_dim %7, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<6xf32>) -> tensor<4x6xf32>
    %11 = stablehlo.multiply %arg0, %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<4x6xf32>
    %12 = stablehlo.add %11, %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<4x6xf32>
    %13 = stablehlo.multiply %arg1, %8 : tensor<6xf32>
    return %12, %13 : tensor<4x6xf32>, tensor<6xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<6xf32>) -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<6xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<6xi32>
    %1 = stablehlo.convert %0 : (tensor<6xi32>) -> tensor<6xf32>
    %2 = stablehlo.sine %1 : tensor<6xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<6xf32>) -> tensor<4x6xf32>
    %4 = stablehlo.multiply %arg0, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<4x6xf32>
    %5 = stablehlo.add %4, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<4x6xf32>
    %6 = stablehlo.multiply %arg1, %2 : tensor<6xf32>
    return %5, %6 : tensor<4x6xf32>, tensor<6xf32>
  }
}
