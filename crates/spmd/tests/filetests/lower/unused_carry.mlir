// The third value that the loop carries is used for nothing but itself.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %y = %s) : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>
    cond {
      %n = stablehlo.constant dense<5> : tensor<i32>
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %d = stablehlo.negate %x : tensor<16x32xf32>
      %2 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
      %3 = stablehlo.maximum %y, %2 : tensor<32xf32>
      stablehlo.return %j, %d, %3 : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>
    }
  return %r#1 : tensor<16x32xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %3:3 = stablehlo.while(%arg1 = %1, %arg2 = %arg0, %arg3 = %2) : tensor<i32>, tensor<16x32xf32>, tensor<32xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x", ?}, {?}]>, <@mesh, [{?}]>]>}
    cond {
      %4 = stablehlo.constant dense<5> : tensor<i32>
      %5 = stablehlo.compare LT, %arg1, %4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %4 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.add %arg1, %4 : tensor<i32>
      %6 = stablehlo.negate %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x32xf32>
      %7 = stablehlo.reduce(%arg2 init: %0) applies stablehlo.maximum across dimensions = [0] : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
      %8 = stablehlo.maximum %arg3, %7 : tensor<32xf32>
      stablehlo.return %5, %6, %8 : tensor<i32>, tensor<16x32xf32>, tensor<32xf32>
    }
    return %3#1 : tensor<16x32xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%arg1 = %0, %arg2 = %arg0) : tensor<i32>, tensor<16x32xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x", ?}, {?}]>]>}
    cond {
      %2 = stablehlo.constant dense<5> : tensor<i32>
      %3 = stablehlo.compare LT, %arg1, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %2 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %arg1, %2 : tensor<i32>
      %4 = stablehlo.negate %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x32xf32>
      stablehlo.return %3, %4 : tensor<i32>, tensor<16x32xf32>
    }
    return %1#1 : tensor<16x32xf32>
  }
}
