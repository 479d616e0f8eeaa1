// The contents of a branch that is known to run take its place. An index out of range selects the last branch.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%i: tensor<i32>, %a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>) {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %many = stablehlo.constant dense<-4> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({
    %3 = stablehlo.negate %a : tensor<16x32xf32>
    stablehlo.return %3 : tensor<16x32xf32>
  }) : (tensor<i32>) -> tensor<16x32xf32>
  %1 = "stablehlo.if"(%true) ({
    %3 = stablehlo.cosine %a : tensor<16x32xf32>
    stablehlo.return %3 : tensor<16x32xf32>
  }, {
    stablehlo.return %a : tensor<16x32xf32>
  }) : (tensor<i1>) -> tensor<16x32xf32>
  %2 = "stablehlo.case"(%many) ({
    stablehlo.return %a : tensor<16x32xf32>
  }, {
    %3 = stablehlo.add %a, %1 : tensor<16x32xf32>
    stablehlo.return %3 : tensor<16x32xf32>
  }) : (tensor<i32>) -> tensor<16x32xf32>
  return %0, %1, %2 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}, tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}, tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}) {
    %0 = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.constant dense<-4> : tensor<i32>
    %2 = "stablehlo.case"(%arg0) ({
      %5 = stablehlo.negate %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x32xf32>
      stablehlo.return %5 : tensor<16x32xf32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<i32>) -> tensor<16x32xf32>
    %3 = "stablehlo.if"(%0) ({
      %5 = stablehlo.cosine %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x32xf32>
      stablehlo.return %5 : tensor<16x32xf32>
    }, {
      stablehlo.return %arg1 : tensor<16x32xf32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<i1>) -> tensor<16x32xf32>
    %4 = "stablehlo.case"(%1) ({
      stablehlo.return %arg1 : tensor<16x32xf32>
    }, {
      %5 = stablehlo.add %arg1, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x32xf32>
      stablehlo.return %5 : tensor<16x32xf32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<i32>) -> tensor<16x32xf32>
    return %2, %3, %4 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}, tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}, tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}) {
    %0 = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.constant dense<-4> : tensor<i32>
    %2 = stablehlo.negate %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x32xf32>
    %3 = stablehlo.cosine %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x32xf32>
    %4 = stablehlo.add %arg1, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x32xf32>
    return %2, %3, %4 : tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>
  }
}
