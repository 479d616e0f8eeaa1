// A sum over devices that a loop accumulates is taken once, after the loop.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<8x8xf32>
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %total = %none) : tensor<i32>, tensor<16x8xf32>, tensor<8x8xf32>
  cond {
    %p = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y = stablehlo.negate %x : tensor<16x8xf32>
    %part = stablehlo.dot_general %y, %b, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %next = stablehlo.add %total, %part : tensor<8x8xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y, %next : tensor<i32>, tensor<16x8xf32>, tensor<8x8xf32>
  }
  return %r#2 : tensor<8x8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.constant dense<5> : tensor<i32>
    %3 = stablehlo.constant dense<0.000000e+00> : tensor<8x8xf32>
    %4:3 = stablehlo.while(%arg2 = %0, %arg3 = %arg0, %arg4 = %3) : tensor<i32>, tensor<16x8xf32>, tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x", ?}, {?}]>, <@mesh, [{?}, {?}]>]>}
    cond {
      %5 = stablehlo.compare LT, %arg2, %2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = stablehlo.negate %arg3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<16x8xf32>
      %6 = stablehlo.dot_general %5, %arg1, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
      %7 = stablehlo.add %arg4, %6 : tensor<8x8xf32>
      %8 = stablehlo.add %arg2, %1 : tensor<i32>
      stablehlo.return %8, %5, %7 : tensor<i32>, tensor<16x8xf32>, tensor<8x8xf32>
    }
    return %4#2 : tensor<8x8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<5> : tensor<i32>
    %3 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} dense<0.000000e+00> : tensor<8x8xf32>
    %4 = sdy.replicated_to_unreduced {"x"} %3 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<8x8xf32>
    %5:3 = stablehlo.while(%arg2 = %0, %arg3 = %arg0, %arg4 = %4) : tensor<i32>, tensor<16x8xf32>, tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}, {}]>, <@mesh, [{}, {}], unreduced={"x"}>]>}
    cond {
      %7 = stablehlo.compare LT, %arg2, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7 = stablehlo.negate %arg3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<16x8xf32>
      %8 = stablehlo.dot_general %7, %arg1, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
      %9 = stablehlo.add %arg4, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : tensor<8x8xf32>
      %10 = stablehlo.add %arg2, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      stablehlo.return %10, %7, %9 : tensor<i32>, tensor<16x8xf32>, tensor<8x8xf32>
    }
    %6 = sdy.all_reduce {"x"} %5#2 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    return %6 : tensor<8x8xf32>
  }
}
