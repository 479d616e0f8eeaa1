// run: canonicalize
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32>, %s: tensor<f32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %s : tensor<f32>
  %1 = stablehlo.abs %s : tensor<f32>
  %2 = "stablehlo.reduce"(%a, %s) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %3 = stablehlo.add %x, %1 : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %4 = sdy.reshard %a <@mesh, [{"x"}]> : tensor<8xf32>
  %5 = "stablehlo.reduce"(%4, %s) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %2 : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %a : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<f32>) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
}
