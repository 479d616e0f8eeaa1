// run: sdy-insert-explicit-reshards{enable-full-version=true}
// What goes into the loop, and what its body gives, lies as the result does.
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %n: tensor<i32>) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%x = %a, %i = %c) : tensor<8x8xf32>, tensor<i32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, []>]>}
    cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.tanh %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<8x8xf32>
    stablehlo.return %1, %n : tensor<8x8xf32>, tensor<i32>
  }
  return %0#0 : tensor<8x8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
  func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %arg1: tensor<i32>) -> tensor<8x8xf32> {
    %0 = sdy.reshard %arg0 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%iterArg = %0, %iterArg_0 = %c) : tensor<8x8xf32>, tensor<i32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, []>]>}
    cond {
      %3 = stablehlo.compare LT, %iterArg_0, %arg1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %3 = sdy.reshard %iterArg <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
      %4 = stablehlo.tanh %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>} : tensor<8x8xf32>
      %5 = sdy.reshard %4 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
      stablehlo.return %5, %arg1 : tensor<8x8xf32>, tensor<i32>
    }
    %2 = sdy.reshard %1#0 <@mesh, [{}, {}]> : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}
