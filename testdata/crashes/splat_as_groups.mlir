// refused
// A list of 2^31 equal numbers takes a few bytes of text.
func.func @main(%a: tensor<8xi32>) -> tensor<8xi32> {
  %1 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<2147483648x1xi64>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8xi32>) -> tensor<8xi32>
  return %1 : tensor<8xi32>
}
