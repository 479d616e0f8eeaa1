// refused
// A list of 2^31 equal numbers takes a few bytes of text.
func.func @main(%a: tensor<8xi32>, %z: tensor<i32>) -> tensor<8xi32> {
  %1 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1>, padding = dense<0> : tensor<2147483648x2xi64>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  return %1 : tensor<8xi32>
}
