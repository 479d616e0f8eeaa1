// runs
// A reduction of two inputs by sums from an initial value -0 that is an argument gives +0 where the whole program gives -0: all arguments -0.
sdy.mesh @m = <["x"=4]>
func.func @main(%a0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %a1: tensor<f32>) -> (tensor<i32>) {
  %0, %1 = "stablehlo.reduce"(%a0, %a0, %a1, %a1) ({
  ^bb0(%p: tensor<f32>, %p2: tensor<f32>, %q: tensor<f32>, %q2: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    %s2 = stablehlo.add %q2, %p2 : tensor<f32>
    stablehlo.return %s, %s2 : tensor<f32>, tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %nan = stablehlo.compare NE, %0, %0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %zz = stablehlo.constant dense<7.0> : tensor<f32>
  %sel = stablehlo.select %nan, %zz, %0 : tensor<i1>, tensor<f32>
  %r = stablehlo.bitcast_convert %sel : (tensor<f32>) -> tensor<i32>
  return %r : tensor<i32>
}
