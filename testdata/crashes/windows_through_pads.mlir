// runs
// Windows over paddings: dilated twice, with padding before and after, removed elements, and several inputs.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %v: tensor<i32>) -> (tensor<43xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<12xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %p = stablehlo.pad %a, %v, low = [2], high = [3], interior = [2] : (tensor<16xi32>, tensor<i32>) -> tensor<51xi32>
  %0 = "stablehlo.reduce_window"(%p, %v) <{base_dilations = array<i64: 2>, padding = dense<[[1, -13]]> : tensor<1x2xi64>, window_dimensions = array<i64: 5>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %1 = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<51xi32>, tensor<i32>) -> tensor<43xi32>
  %q = stablehlo.pad %a, %v, low = [-1], high = [-1], interior = [0] : (tensor<16xi32>, tensor<i32>) -> tensor<14xi32>
  %2 = "stablehlo.reduce_window"(%q, %v) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %1 = stablehlo.maximum %x, %y : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<14xi32>, tensor<i32>) -> tensor<12xi32>
  %r = stablehlo.pad %a, %v, low = [1], high = [1], interior = [0] : (tensor<16xi32>, tensor<i32>) -> tensor<18xi32>
  %s = stablehlo.pad %b, %v, low = [1], high = [1], interior = [0] : (tensor<16xi32>, tensor<i32>) -> tensor<18xi32>
  %3:2 = "stablehlo.reduce_window"(%r, %s, %v, %v) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %z: tensor<i32>, %w: tensor<i32>):
    %4 = stablehlo.add %x, %z : tensor<i32>
    %5 = stablehlo.minimum %y, %w : tensor<i32>
    stablehlo.return %4, %5 : tensor<i32>, tensor<i32>
  }) : (tensor<18xi32>, tensor<18xi32>, tensor<i32>, tensor<i32>) -> (tensor<16xi32>, tensor<16xi32>)
  return %0, %2, %3#0, %3#1 : tensor<43xi32>, tensor<12xi32>, tensor<16xi32>, tensor<16xi32>
}
