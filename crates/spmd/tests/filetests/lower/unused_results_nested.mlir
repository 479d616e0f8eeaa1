// A result that only an unused branch reads, and the values for it in a branch and in a loop inside of it.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%i: tensor<i32>, %p: tensor<i1>, %a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %s = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %0:2 = "stablehlo.case"(%i) ({
    %1:4 = stablehlo.while(%k = %zero, %x = %a, %y = %s, %u = %s) : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>
    cond {
      %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %k, %one : tensor<i32>
      %d = stablehlo.negate %x : tensor<16x32xf32>
      %2 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
      %3 = stablehlo.maximum %y, %2 : tensor<32xf32>
      stablehlo.return %j, %d, %3, %y : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>
    }
    stablehlo.return %1#1, %1#3 : tensor<16x32xf32>, tensor<32xf32>
  }, {
    %1 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
    stablehlo.return %a, %1 : tensor<16x32xf32>, tensor<32xf32>
  }) : (tensor<i32>) -> (tensor<16x32xf32>, tensor<32xf32>)
  %4 = "stablehlo.if"(%p) ({
    stablehlo.return %0#1 : tensor<32xf32>
  }, {
    stablehlo.return %s : tensor<32xf32>
  }) : (tensor<i1>) -> tensor<32xf32>
  return %0#0 : tensor<16x32xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<i1>, %arg2: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.constant dense<3> : tensor<i32>
    %3 = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %5 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %6 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %7:2 = "stablehlo.case"(%arg0) ({
      %9:4 = stablehlo.while(%arg3 = %1, %arg4 = %arg2, %arg5 = %4, %arg6 = %5) : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x", ?}, {?}]>, <@mesh, [{?}]>, <@mesh, [{?}]>]>}
      cond {
        %10 = stablehlo.compare LT, %arg3, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %10 : tensor<i1>
      } do {
        %10 = stablehlo.add %arg3, %3 : tensor<i32>
        %11 = stablehlo.negate %arg4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x32xf32>
        %12 = stablehlo.reduce(%arg4 init: %0) applies stablehlo.maximum across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
        %13 = stablehlo.maximum %arg5, %12 : tensor<32xf32>
        stablehlo.return %10, %11, %13, %arg5 : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32xf32>
      }
      stablehlo.return %9#1, %9#3 : tensor<16x32xf32>, tensor<32xf32>
    }, {
      %9 = stablehlo.reduce(%arg2 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
      stablehlo.return %arg2, %9 : tensor<16x32xf32>, tensor<32xf32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>, <@mesh, [{?}]>]>} : (tensor<i32>) -> (tensor<16x32xf32>, tensor<32xf32>)
    %8 = "stablehlo.if"(%arg1) ({
      stablehlo.return %7#1 : tensor<32xf32>
    }, {
      stablehlo.return %6 : tensor<32xf32>
    }) : (tensor<i1>) -> tensor<32xf32>
    return %7#0 : tensor<16x32xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<i1>, %arg2: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<3> : tensor<i32>
    %2 = stablehlo.constant dense<1> : tensor<i32>
    %3 = "stablehlo.case"(%arg0) ({
      %4:2 = stablehlo.while(%arg3 = %0, %arg4 = %arg2) : tensor<i32>, tensor<16x32xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x", ?}, {?}]>]>}
      cond {
        %5 = stablehlo.compare LT, %arg3, %1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %5 : tensor<i1>
      } do {
        %5 = stablehlo.add %arg3, %2 : tensor<i32>
        %6 = stablehlo.negate %arg4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x32xf32>
        stablehlo.return %5, %6 : tensor<i32>, tensor<16x32xf32>
      }
      stablehlo.return %4#1 : tensor<16x32xf32>
    }, {
      stablehlo.return %arg2 : tensor<16x32xf32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<i32>) -> tensor<16x32xf32>
    return %3 : tensor<16x32xf32>
  }
}
