// calls: 10
module {
 func.func public @main(%x: tensor<64xf32>, %n: tensor<i32>) -> tensor<64xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %lim = stablehlo.constant dense<500> : tensor<i32>
  %0:2 = stablehlo.while(%i = %z, %y = %x) : tensor<i32>, tensor<64xf32> cond {
    %c = stablehlo.compare LT, %i, %lim, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %r = stablehlo.reverse %y, dims = [0] : tensor<64xf32>
    %t = stablehlo.tanh %r : tensor<64xf32>
    stablehlo.return %j, %t : tensor<i32>, tensor<64xf32>
  }
  return %0#1 : tensor<64xf32>
 }
}
