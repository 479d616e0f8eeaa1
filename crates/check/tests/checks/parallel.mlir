module @grid {
  func.func @ids() -> tensor<2xui32> {
    %0 = stablehlo.replica_id : tensor<ui32>
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.reshape %0 : (tensor<ui32>) -> tensor<1xui32>
    %3 = stablehlo.reshape %1 : (tensor<ui32>) -> tensor<1xui32>
    %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> tensor<2xui32>
    return %4 : tensor<2xui32>
  }
  func.func @main() {
    %0:4 = "interpreter.run_parallel"() {programs = [[@ids, @ids], [@ids, @ids]]} : () -> (tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>)
    check.expect_eq_const %0#1, dense<[0, 1]> : tensor<2xui32>
    check.expect_eq_const %0#2, dense<[1, 0]> : tensor<2xui32>
    return
  }
}
// -----
module @sums {
  func.func @f(%x: tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>) {
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %1 = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) : (tensor<1xi32>) -> tensor<1xi32>
    %2 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %1 = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) : (tensor<1xi32>) -> tensor<1xi32>
    return %0, %2 : tensor<1xi32>, tensor<1xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<1xi32>
    %b = stablehlo.constant dense<2> : tensor<1xi32>
    %c = stablehlo.constant dense<4> : tensor<1xi32>
    %d = stablehlo.constant dense<8> : tensor<1xi32>
    %0:8 = "interpreter.run_parallel"(%a, %b, %c, %d) {programs = [[@f, @f], [@f, @f]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)
    // Across replicas, each partition by itself; then all together.
    check.expect_eq_const %0#0, dense<5> : tensor<1xi32>
    check.expect_eq_const %0#2, dense<10> : tensor<1xi32>
    check.expect_eq_const %0#1, dense<15> : tensor<1xi32>
    return
  }
}
// -----
module @reduce_to_one {
  func.func @f(%x: tensor<1xi32>, %root: tensor<1xi32>) -> tensor<1xi32> {
    %0 = "stablehlo.collective_reduce"(%x, %root) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %1 = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
    return %0 : tensor<1xi32>
  }
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<1xi32>
    %b = stablehlo.constant dense<2> : tensor<1xi32>
    %0:2 = "interpreter.run_parallel"(%a, %a, %b, %a) {programs = [[@f], [@f]]} : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> (tensor<1xi32>, tensor<1xi32>)
    check.expect_eq_const %0#0, dense<0> : tensor<1xi32>
    check.expect_eq_const %0#1, dense<3> : tensor<1xi32>
    return
  }
}
