// A collective in a branch stays there, because the branch may not be taken in any turn. One in a loop in a manual
// computation, over an axis that is not manual, leaves the loop and not the computation.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, %p: tensor<i1>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<1.0> : tensor<8xf32>
  %0:2 = stablehlo.while(%i = %zero, %x = %b) : tensor<i32>, tensor<8xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = "stablehlo.if"(%p) ({
      %3 = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<8xf32>
      stablehlo.return %3 : tensor<8xf32>
    }, {
      stablehlo.return %x : tensor<8xf32>
    }) : (tensor<i1>) -> tensor<8xf32>
    %4 = stablehlo.add %x, %2 : tensor<8xf32>
    stablehlo.return %1, %4 : tensor<i32>, tensor<8xf32>
  }
  %5 = sdy.manual_computation(%a, %n) in_shardings=[<@mesh, [{"y"}]>, <@mesh, []>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%c: tensor<8xf32>, %m: tensor<i32>) {
    %6 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.constant dense<1> : tensor<i32>
    %8 = stablehlo.constant dense<1.0> : tensor<8xf32>
    %9:2 = stablehlo.while(%i = %6, %x = %8) : tensor<i32>, tensor<8xf32>
    cond {
      %10 = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %10 = stablehlo.add %i, %7 : tensor<i32>
      %11 = sdy.sharding_constraint %c <@mesh, [{}]> : tensor<8xf32>
      %12 = stablehlo.add %x, %11 : tensor<8xf32>
      stablehlo.return %10, %12 : tensor<i32>, tensor<8xf32>
    }
    sdy.return %9#1 : tensor<8xf32>
  } : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
  return %0#1, %5 : tensor<8xf32>, tensor<8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, %arg1: tensor<i1> {sdy.sharding = #sdy.sharding<@mesh, []>}, %arg2: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<1.000000e+00> : tensor<8xf32>
    %3:2 = stablehlo.while(%arg3 = %0, %arg4 = %2) : tensor<i32>, tensor<8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}]>]>}
    cond {
      %5 = stablehlo.compare LT, %arg3, %arg2, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = stablehlo.add %arg3, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = "stablehlo.if"(%arg1) ({
        %8 = sdy.all_gather [{"y"}] %arg0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
        stablehlo.return %8 : tensor<8xf32>
      }, {
        stablehlo.return %arg4 : tensor<8xf32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i1>) -> tensor<8xf32>
      %7 = stablehlo.add %arg4, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<8xf32>
      stablehlo.return %5, %7 : tensor<i32>, tensor<8xf32>
    }
    %4 = sdy.manual_computation(%arg0, %arg2) in_shardings=[<@mesh, [{"y"}]>, <@mesh, []>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%arg3: tensor<8xf32>, %arg4: tensor<i32>) {
      %5 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %7 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<1.000000e+00> : tensor<8xf32>
      %8:2 = stablehlo.while(%arg5 = %5, %arg6 = %7) : tensor<i32>, tensor<8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}]>]>}
      cond {
        %9 = stablehlo.compare LT, %arg5, %arg4, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %9 : tensor<i1>
      } do {
        %9 = stablehlo.add %arg5, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %10 = sdy.all_gather [{"y"}] %arg3 out_sharding=<@mesh, [{}]> : tensor<8xf32>
        %11 = stablehlo.add %arg6, %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<8xf32>
        stablehlo.return %9, %11 : tensor<i32>, tensor<8xf32>
      }
      sdy.return %8#1 : tensor<8xf32>
    } : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
    return %3#1, %4 : tensor<8xf32>, tensor<8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, %arg1: tensor<i1> {sdy.sharding = #sdy.sharding<@mesh, []>}, %arg2: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
    %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<1.000000e+00> : tensor<8xf32>
    %3:2 = stablehlo.while(%arg3 = %0, %arg4 = %2) : tensor<i32>, tensor<8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}]>]>}
    cond {
      %5 = stablehlo.compare LT, %arg3, %arg2, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %5 = stablehlo.add %arg3, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
      %6 = "stablehlo.if"(%arg1) ({
        %8 = sdy.all_gather [{"y"}] %arg0 out_sharding=<@mesh, [{}]> : tensor<8xf32>
        stablehlo.return %8 : tensor<8xf32>
      }, {
        stablehlo.return %arg4 : tensor<8xf32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<i1>) -> tensor<8xf32>
      %7 = stablehlo.add %arg4, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<8xf32>
      stablehlo.return %5, %7 : tensor<i32>, tensor<8xf32>
    }
    %4 = sdy.manual_computation(%arg0, %arg2) in_shardings=[<@mesh, [{"y"}]>, <@mesh, []>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%arg3: tensor<8xf32>, %arg4: tensor<i32>) {
      %5 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<0> : tensor<i32>
      %6 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<1> : tensor<i32>
      %7 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} dense<1.000000e+00> : tensor<8xf32>
      %8 = sdy.all_gather [{"y"}] %arg3 out_sharding=<@mesh, [{}]> : tensor<8xf32>
      %9:2 = stablehlo.while(%arg5 = %5, %arg6 = %7) : tensor<i32>, tensor<8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}]>]>}
      cond {
        %10 = stablehlo.compare LT, %arg5, %arg4, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %10 : tensor<i1>
      } do {
        %10 = stablehlo.add %arg5, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<i32>
        %11 = stablehlo.add %arg6, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<8xf32>
        stablehlo.return %10, %11 : tensor<i32>, tensor<8xf32>
      }
      sdy.return %9#1 : tensor<8xf32>
    } : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
    return %3#1, %4 : tensor<8xf32>, tensor<8xf32>
  }
}
