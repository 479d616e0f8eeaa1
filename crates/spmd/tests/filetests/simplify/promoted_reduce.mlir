// A reducer on wider elements: its operands are converted.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %i: tensor<i8>) -> tensor<i32> {
  %0 = "stablehlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %1 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<8xi8>, tensor<i8>) -> tensor<i32>
  return %0 : tensor<i32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<8xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<i8>) -> tensor<i32> {
    %0 = stablehlo.convert %arg0 : (tensor<8xi8>) -> tensor<8xi32>
    %1 = stablehlo.convert %arg1 : (tensor<i8>) -> tensor<i32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<i32>
    return %2 : tensor<i32>
  }
}
