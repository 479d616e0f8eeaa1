// runs
sdy.mesh @mesh = <["x"=4]>
func.func public @main(%arg0: tensor<f8E5M2FNUZ>, %arg1: tensor<8x3x7xi32>, %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8x3x7xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2, ?}, {"x":(1)2}, {?}]>}) {
  %v3 = stablehlo.reshape %arg1 : (tensor<8x3x7xi32>) -> tensor<168xi32>
  %v4 = stablehlo.slice %v3 [0:1] : (tensor<168xi32>) -> tensor<1xi32>
  %v5 = stablehlo.reshape %v4 : (tensor<1xi32>) -> tensor<i32>
  %v6 = stablehlo.constant dense<-1> : tensor<i32>
  %v7 = sdy.constant dense<3> : tensor<i32>
  %v8 = stablehlo.clamp %v6, %v5, %v7 : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
  %v16:2 = "stablehlo.case"(%v8) ({
  %v11 = sdy.manual_computation(%v4, %v4) in_shardings=[<@mesh, [{}]>, <@mesh, [{}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%v9: tensor<1xi32>, %v10: tensor<1xi32>) {
    sdy.return %v9 : tensor<1xi32>
  } : (tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    stablehlo.return %arg1, %arg0 : tensor<8x3x7xi32>, tensor<f8E5M2FNUZ>
  }, {
  %v12 = stablehlo.constant dense<[[[3, 0, 4, -4, 0, 1, 1], [-2, -3, -1, -4, -1, -1, 1], [3, 4, 2, 0, 1, -3, -2]], [[-3, 1, -4, 2, 0, 1, -1], [0, -1, -4, 4, -3, 4, 2], [4, 0, -2, -3, -3, 4, -4]], [[-4, 4, 3, -3, 0, 3, 1], [0, -1, -1, 4, 0, 3, 1], [-4, 2, 0, -3, 3, 4, 2]], [[-3, -4, 0, -4, 3, 4, -4], [3, 1, 4, 4, -1, -4, -1], [1, -2, 4, 3, -3, 3, -3]], [[-2, 2, -3, 0, 2, -4, 4], [-2, -1, 3, 4, 1, -1, 2], [-1, -1, -2, -1, 2, 1, -4]], [[2, 4, -4, 0, 4, 4, -3], [-1, 4, -3, 0, 0, 3, 1], [4, -3, -3, -1, 3, 3, -1]], [[-4, 1, 2, 4, -1, -3, -4], [3, 2, 3, -2, 0, 1, -2], [-3, -2, -3, 3, -1, 4, -3]], [[-1, 2, 3, -1, 1, 4, 0], [0, 2, -1, 0, -3, 4, 4], [-1, -4, 1, 4, -2, 2, 0]]]> : tensor<8x3x7xi32>
  %v13 = stablehlo.convert %v6 : (tensor<i32>) -> tensor<f8E5M2FNUZ>
    stablehlo.return %v12, %v13 : tensor<8x3x7xi32>, tensor<f8E5M2FNUZ>
  }, {
  %v14 = sdy.constant dense<[[[4, 3, 1, 4], [1, 4, 1, 2], [1, 1, 3, 0], [2, 1, 0, 2]], [[2, 4, 3, 1], [2, 0, 0, 2], [2, 3, 3, 4], [1, 3, 0, 1]], [[3, 3, 2, 1], [3, 2, 2, 4], [2, 1, 3, 3], [2, 2, 2, 4]], [[0, 0, 1, 0], [0, 2, 1, 1], [0, 0, 2, 1], [2, 2, 4, 1]], [[1, 0, 4, 4], [3, 0, 2, 1], [1, 0, 2, 0], [2, 2, 3, 0]], [[4, 2, 0, 3], [1, 3, 3, 4], [4, 4, 2, 2], [0, 3, 4, 0]], [[2, 2, 0, 0], [0, 3, 1, 2], [0, 4, 4, 0], [3, 1, 2, 2]]]> : tensor<7x4x4xui32>
  %v15 = "stablehlo.negate"(%v14) : (tensor<7x4x4xui32>) -> (tensor<7x4x4xui32>)
    stablehlo.return %arg1, %arg0 : tensor<8x3x7xi32>, tensor<f8E5M2FNUZ>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"x"}, {?}]>, <@mesh, []>]>} : (tensor<i32>) -> (tensor<8x3x7xi32>, tensor<f8E5M2FNUZ>)
  %v17 = sdy.sharding_constraint %arg2 <@mesh, [{"x"}]> : tensor<8xf32>
  %v18 = "stablehlo.sort"(%v17) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)2}]>]>} : (tensor<8xf32>) -> (tensor<8xf32>)
  %v19 = sdy.sharding_constraint %v18 <@mesh, [{"x"}]> : tensor<8xf32>
  return %v19, %v19, %v16#0 : tensor<8xf32>, tensor<8xf32>, tensor<8x3x7xi32>
}
func.func private @f0(%v1: tensor<ui64>, %v2: tensor<6x8x6xui4>) -> (tensor<ui64>) {
    return %v1 : tensor<ui64>
}
