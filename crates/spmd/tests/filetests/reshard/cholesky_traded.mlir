// The rows of the matrices are traded for the batch, and back.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>}) -> (tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>}) {
  %0 = stablehlo.cholesky %a, lower = true : tensor<8x4x4xf32>
  return %0 : tensor<8x4x4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>}) -> (tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>}) {
    %0 = stablehlo.cholesky %arg0, lower = true {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y", ?}, {"x", ?}, {?}]>]>} : tensor<8x4x4xf32>
    return %0 : tensor<8x4x4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>}) -> (tensor<8x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{"y", "x"}, {}, {}]> : tensor<8x4x4xf32>
    %1 = stablehlo.cholesky %0, lower = true {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y", "x"}, {}, {}]>]>} : tensor<8x4x4xf32>
    %2 = sdy.reshard %1 <@mesh, [{"y"}, {"x"}, {}]> : tensor<8x4x4xf32>
    return %2 : tensor<8x4x4xf32>
  }
}
