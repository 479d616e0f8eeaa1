// calls: 5
module {
 func.func public @main(%x: tensor<100x4x32xf32>, %h: tensor<4x32xf32>, %w: tensor<32x32xf32>) -> tensor<100x4x32xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %lim = stablehlo.constant dense<100> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<100x4x32xf32>
  %0:3 = stablehlo.while(%i = %z, %s = %h, %o = %f0) : tensor<i32>, tensor<4x32xf32>, tensor<100x4x32xf32> cond {
    %c = stablehlo.compare LT, %i, %lim, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %e = stablehlo.dynamic_slice %x, %i, %z, %z, sizes = [1, 4, 32] : (tensor<100x4x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x32xf32>
    %e1 = stablehlo.reshape %e : (tensor<1x4x32xf32>) -> tensor<4x32xf32>
    %d = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
    %a = stablehlo.add %d, %e1 : tensor<4x32xf32>
    %t = stablehlo.tanh %a : tensor<4x32xf32>
    %t1 = stablehlo.reshape %t : (tensor<4x32xf32>) -> tensor<1x4x32xf32>
    %p = stablehlo.dynamic_update_slice %o, %t1, %i, %z, %z : (tensor<100x4x32xf32>, tensor<1x4x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<100x4x32xf32>
    stablehlo.return %j, %t, %p : tensor<i32>, tensor<4x32xf32>, tensor<100x4x32xf32>
  }
  return %0#2 : tensor<100x4x32xf32>
 }
}
