// A reducer that uses a value from outside: the op runs whole.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %v: tensor<f32>) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = "stablehlo.reduce_window"(%a, %v) <{window_dimensions = array<i64: 3>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.maximum %p, %q : tensor<f32>
    %2 = stablehlo.maximum %1, %v : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.all_gather [{"x"}] %arg0 out_sharding=<@mesh, [{}]> : tensor<16xf32>
    %1 = "stablehlo.reduce_window"(%0, %arg1) <{padding = dense<1> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = stablehlo.maximum %arg2, %arg3 : tensor<f32>
      %4 = stablehlo.maximum %3, %arg1 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
    %2 = sdy.all_slice [{"x"}] %1 out_sharding=<@mesh, [{"x"}]> : tensor<16xf32>
    return %2 : tensor<16xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.all_gather [{"x"}] %arg0 out_sharding=<@mesh, [{}]> : tensor<16xf32>
    %1 = "stablehlo.reduce_window"(%0, %arg1) <{padding = dense<1> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = stablehlo.maximum %arg2, %arg3 : tensor<f32>
      %4 = stablehlo.maximum %3, %arg1 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<16xf32>, tensor<f32>) -> tensor<16xf32>
    %2 = sdy.all_slice [{"x"}] %1 out_sharding=<@mesh, [{"x"}]> : tensor<16xf32>
    return %2 : tensor<16xf32>
  }
}
