// An op with an effect stays, and so does what only its regions use. A branch without effects whose results are not used
// is removed, which `lower` does first.
func.func @main(%p: tensor<i1>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  %1:2 = "stablehlo.if"(%p) ({
    check.expect_close %0, %0, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
    stablehlo.return %0, %a : tensor<4xf32>, tensor<4xf32>
  }, {
    stablehlo.return %a, %a : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  %2 = "stablehlo.if"(%p) ({
    stablehlo.return %0 : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
// ---- expected
// before
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %arg1 : tensor<4xf32>
    "stablehlo.if"(%arg0) ({
      check.expect_close %0, %0, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
      stablehlo.return
    }, {
      stablehlo.return
    }) : (tensor<i1>) -> ()
    return %arg1 : tensor<4xf32>
  }
}
// after
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %arg1 : tensor<4xf32>
    "stablehlo.if"(%arg0) ({
      check.expect_close %0, %0, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
      stablehlo.return
    }, {
      stablehlo.return
    }) : (tensor<i1>) -> ()
    return %arg1 : tensor<4xf32>
  }
}
