// A padding whose elements are not the initial value stays, and so does one that removes elements from the window's own
// padding.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.constant dense<-0.0> : tensor<f32>
  %p = stablehlo.pad %a, %d, low = [1], high = [1], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
  %0 = "stablehlo.reduce_window"(%p, %c) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10xf32>, tensor<f32>) -> tensor<8xf32>
  %q = stablehlo.pad %a, %c, low = [-1], high = [1], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = "stablehlo.reduce_window"(%q, %c) <{window_dimensions = array<i64: 3>, padding = dense<1> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %2 : tensor<8xf32>, tensor<8xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %arg0, %1, low = [1], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
    %3 = "stablehlo.reduce_window"(%2, %0) <{window_dimensions = array<i64: 3>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %6 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<10xf32>, tensor<f32>) -> tensor<8xf32>
    %4 = stablehlo.pad %arg0, %0, low = [-1], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = "stablehlo.reduce_window"(%4, %0) <{padding = dense<1> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %6 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    return %3, %5 : tensor<8xf32>, tensor<8xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %arg0, %1, low = [1], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<10xf32>
    %3 = "stablehlo.reduce_window"(%2, %0) <{window_dimensions = array<i64: 3>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %6 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<10xf32>, tensor<f32>) -> tensor<8xf32>
    %4 = stablehlo.pad %arg0, %0, low = [-1], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = "stablehlo.reduce_window"(%4, %0) <{padding = dense<1> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %6 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    return %3, %5 : tensor<8xf32>, tensor<8xf32>
  }
}
