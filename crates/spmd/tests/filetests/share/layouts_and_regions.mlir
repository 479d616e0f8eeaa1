// Copies with other layouts stay, and so do those in a region and what is computed from arguments.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %p: tensor<i1>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = stablehlo.add %a, %c : tensor<4xf32>
  %1 = stablehlo.add %b, %c : tensor<4xf32>
  %2 = "stablehlo.if"(%p) ({
    %3 = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %4 = stablehlo.add %b, %3 : tensor<4xf32>
    stablehlo.return %4 : tensor<4xf32>
  }, {
    %5 = stablehlo.negate %b : tensor<4xf32>
    %6 = stablehlo.negate %b : tensor<4xf32>
    %7 = stablehlo.multiply %5, %6 : tensor<4xf32>
    stablehlo.return %7 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg2: tensor<i1>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
    %1 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
    %2 = stablehlo.add %arg0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : tensor<4xf32>
    %3 = stablehlo.add %arg1, %1 : tensor<4xf32>
    %4 = "stablehlo.if"(%arg2) ({
      %5 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
      %6 = stablehlo.add %arg1, %5 : tensor<4xf32>
      stablehlo.return %6 : tensor<4xf32>
    }, {
      %5 = stablehlo.negate %arg1 : tensor<4xf32>
      %6 = stablehlo.negate %arg1 : tensor<4xf32>
      %7 = stablehlo.multiply %5, %6 : tensor<4xf32>
      stablehlo.return %7 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg2: tensor<i1>) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
    %1 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
    %2 = stablehlo.add %arg0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : tensor<4xf32>
    %3 = stablehlo.add %arg1, %1 : tensor<4xf32>
    %4 = "stablehlo.if"(%arg2) ({
      %5 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
      %6 = stablehlo.add %arg1, %5 : tensor<4xf32>
      stablehlo.return %6 : tensor<4xf32>
    }, {
      %5 = stablehlo.negate %arg1 : tensor<4xf32>
      %6 = stablehlo.negate %arg1 : tensor<4xf32>
      %7 = stablehlo.multiply %5, %6 : tensor<4xf32>
      stablehlo.return %7 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
