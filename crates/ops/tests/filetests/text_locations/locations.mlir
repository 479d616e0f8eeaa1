#loc = loc(unknown)
#loc1 = loc("x")
#loc2 = loc("f.py":3:5)
module @m {
  func.func public @main(%arg0: tensor<4xf32> loc("x"), %arg1: tensor<4xf32> loc(unknown)) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32> loc(#loc3)
    %1 = stablehlo.abs %0 : tensor<4xf32> loc(callsite("abs"(#loc2) at fused<"a pass">[#loc2, #loc4]))
    %c = stablehlo.constant dense<0.0> : tensor<f32> loc(#loc)
    %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc(#loc2)
    %3 = "stablehlo.while"(%2) ({
    ^bb0(%a: tensor<f32> loc("a")):
      %p = stablehlo.constant dense<true> : tensor<i1> loc(#loc)
      stablehlo.return %p : tensor<i1> loc(#loc)
    }, {
    ^bb0(%a: tensor<f32> loc("a")):
      stablehlo.return %a : tensor<f32> loc(#loc)
    }) : (tensor<f32>) -> tensor<f32> loc(#loc5)
    return %1 : tensor<4xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc3 = loc("jit(f)/add"(#loc2))
#loc4 = loc("f.py":3:5 to :9)
#loc5 = loc(fused<1 : i32>["caf\E9.py":7:1 to 9:2])
// ---- expected
module @m {
  func.func public @main(%arg0: tensor<4xf32> loc(#loc0), %arg1: tensor<4xf32> loc(unknown)) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32> loc(#loc2)
    %1 = stablehlo.abs %0 : tensor<4xf32> loc(#loc6)
    %2 = stablehlo.constant dense<0.000000e+00> : tensor<f32> loc(unknown)
    %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc(#loc1)
    %4 = "stablehlo.while"(%3) ({
    ^bb0(%arg2: tensor<f32> loc(#loc7)):
      %5 = stablehlo.constant dense<true> : tensor<i1> loc(unknown)
      stablehlo.return %5 : tensor<i1> loc(unknown)
    }, {
    ^bb0(%arg2: tensor<f32> loc(#loc7)):
      stablehlo.return %arg2 : tensor<f32> loc(unknown)
    }) : (tensor<f32>) -> tensor<f32> loc(#loc9)
    return %1 : tensor<4xf32> loc(unknown)
  } loc(unknown)
} loc(unknown)
#loc0 = loc("x")
#loc1 = loc("f.py":3:5)
#loc2 = loc("jit(f)/add"(#loc1))
#loc3 = loc("abs"(#loc1))
#loc4 = loc("f.py":3:5 to :9)
#loc5 = loc(fused<"a pass">[#loc1, #loc4])
#loc6 = loc(callsite(#loc3 at #loc5))
#loc7 = loc("a")
#loc8 = loc("caf\EF\BF\BD.py":7:1 to 9:2)
#loc9 = loc(fused<1 : i32>[#loc8])
