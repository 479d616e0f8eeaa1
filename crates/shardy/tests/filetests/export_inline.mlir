// run: sdy-export-pipeline
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}) -> tensor<8x8xf32> {
  %0 = sdy.sharding_constraint %a <@mesh, [{}, {"y"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// ---- expected
module {
  func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=2]>, [{"x"}, {}]>}) -> tensor<8x8xf32> {
    %0 = sdy.reshard %arg0 <mesh<["x"=2, "y"=2]>, [{}, {"y"}]> : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}
