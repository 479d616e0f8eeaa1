// Names are renumbered; what can be left out is; `func.` is left out in a function's own region only.
!pair = tuple<tensor<2xf32>, tensor<i32>>
#limits = {high = 3 : i32, low = -1 : i32}
module @jit_f attributes {mhlo.num_partitions = 8 : i32, my.limits = #limits} {
  func.func public @main(%x: tensor<2xf32> {jax.buffer_donor = true, tf.aliasing_output = 0 : i32}, %n: tensor<i32>)
      -> (tensor<2xf32> {jax.result_info = "result[0]"}, tensor<i32>) attributes {execution_thread = "main"} {
    %cst_0 = stablehlo.constant dense<1.5> : tensor<2xf32>
    %pair:2 = func.call @helper(%x, %cst_0) {my.note} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %sum = "stablehlo.add"(%pair#0, %pair#1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %t = stablehlo.tuple %sum, %n : !pair
    %e = stablehlo.get_tuple_element %t[0] : (!pair) -> tensor<2xf32>
    func.return %e, %n : tensor<2xf32>, tensor<i32>
  }
  func.func private @helper(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    return %arg1, %arg0 : tensor<2xf32>, tensor<2xf32>
  }
  func.func nested @"a b"() {
    return
  }
}
// ---- expected
module @jit_f attributes {mhlo.num_partitions = 8 : i32, my.limits = {high = 3 : i32, low = -1 : i32}} {
  func.func public @main(%arg0: tensor<2xf32> {jax.buffer_donor = true, tf.aliasing_output = 0 : i32}, %arg1: tensor<i32>) -> (tensor<2xf32> {jax.result_info = "result[0]"}, tensor<i32>) attributes {execution_thread = "main"} {
    %0 = stablehlo.constant dense<1.500000e+00> : tensor<2xf32>
    %1:2 = call @helper(%arg0, %0) {my.note} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %2 = stablehlo.add %1#0, %1#1 : tensor<2xf32>
    %3 = stablehlo.tuple %2, %arg1 : tuple<tensor<2xf32>, tensor<i32>>
    %4 = stablehlo.get_tuple_element %3[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
    return %4, %arg1 : tensor<2xf32>, tensor<i32>
  }
  func.func private @helper(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    return %arg1, %arg0 : tensor<2xf32>, tensor<2xf32>
  }
  func.func private @"a b"() {
    return
  }
}
