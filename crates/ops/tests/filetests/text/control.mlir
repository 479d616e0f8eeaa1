func.func @main(%arg0: tensor<8x4xf32>, %n: tensor<i32>) -> tensor<8x4xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = "stablehlo.reduce"(%arg0, %c) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %2:2 = stablehlo.reduce(%arg0 init: %c), (%arg0 init: %c) across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%d: tensor<f32>, %e: tensor<f32>)  {
    %s = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %s, %e : tensor<f32>, tensor<f32>
  }
  %3:2 = stablehlo.while(%i = %n, %x = %arg0) : tensor<i32>, tensor<8x4xf32>
   cond {
    %l = stablehlo.constant dense<10> : tensor<i32>
    %p = stablehlo.compare LT, %i, %l, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y = func.call @step(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    stablehlo.return %i, %y : tensor<i32>, tensor<8x4xf32>
  }
  %4 = "stablehlo.case"(%n) ({
    %y = stablehlo.negate %3#1 : tensor<8x4xf32>
    stablehlo.return %y : tensor<8x4xf32>
  }, {
    stablehlo.return %3#1 : tensor<8x4xf32>
  }) : (tensor<i32>) -> tensor<8x4xf32>
  %5 = "stablehlo.sort"(%4) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %t = stablehlo.create_token : !stablehlo.token
  %u = stablehlo.after_all %t, %t : !stablehlo.token
  %6:2 = stablehlo.optimization_barrier {my.note} %5, %u : tensor<8x4xf32>, !stablehlo.token
  %7 = stablehlo.composite "my.op" %6#0 {composite_attributes = {k = 1 : i64}, decomposition = @step, version = 1 : i32} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %7 : tensor<8x4xf32>
}
func.func private @step(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
  return %arg0 : tensor<8x4xf32>
}
// ---- expected
module {
  func.func public @main(%arg0: tensor<8x4xf32>, %arg1: tensor<i32>) -> tensor<8x4xf32> {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %3:2 = stablehlo.reduce(%arg0 init: %0), (%arg0 init: %0) across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
     reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<f32>, %arg5: tensor<f32>) {
      %11 = stablehlo.subtract %arg2, %arg4 : tensor<f32>
      stablehlo.return %11, %arg5 : tensor<f32>, tensor<f32>
    }
    %4:2 = stablehlo.while(%arg2 = %arg1, %arg3 = %arg0) : tensor<i32>, tensor<8x4xf32>
    cond {
      %11 = stablehlo.constant dense<10> : tensor<i32>
      %12 = stablehlo.compare LT, %arg2, %11, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    } do {
      %11 = func.call @step(%arg3) : (tensor<8x4xf32>) -> tensor<8x4xf32>
      stablehlo.return %arg2, %11 : tensor<i32>, tensor<8x4xf32>
    }
    %5 = "stablehlo.case"(%arg1) ({
      %11 = stablehlo.negate %4#1 : tensor<8x4xf32>
      stablehlo.return %11 : tensor<8x4xf32>
    }, {
      stablehlo.return %4#1 : tensor<8x4xf32>
    }) : (tensor<i32>) -> tensor<8x4xf32>
    %6 = "stablehlo.sort"(%5) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %11 = stablehlo.compare LT, %arg2, %arg3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %7 = stablehlo.create_token : !stablehlo.token
    %8 = stablehlo.after_all %7, %7 : !stablehlo.token
    %9:2 = stablehlo.optimization_barrier {my.note} %6, %8 : tensor<8x4xf32>, !stablehlo.token
    %10 = stablehlo.composite "my.op" %9#0 {composite_attributes = {k = 1 : i64}, decomposition = @step, version = 1 : i32} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %10 : tensor<8x4xf32>
  }
  func.func private @step(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    return %arg0 : tensor<8x4xf32>
  }
}
