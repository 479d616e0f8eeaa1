// Between windows there are elements that none contains.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %s: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %v: tensor<f32>) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = "stablehlo.select_and_scatter"(%a, %s, %v) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 4>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %1 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<16xf32>, tensor<4xf32>, tensor<f32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg2: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 4>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.compare GE, %arg3, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<16xf32>, tensor<4xf32>, tensor<f32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg2: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1, %arg2) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg3: tensor<8xf32>, %arg4: tensor<2xf32>, %arg5: tensor<f32>) {
      %1 = stablehlo.slice %arg3 [0:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8xf32>) -> tensor<6xf32>
      %2 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-0.000000e+00> : tensor<f32>
      %3 = "stablehlo.select_and_scatter"(%1, %arg4, %arg5) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 4>}> ({
      ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
        %6 = stablehlo.compare GE, %arg6, %arg7, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %6 : tensor<i1>
      }, {
      ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
        %6 = stablehlo.add %arg6, %arg7 : tensor<f32>
        stablehlo.return %6 : tensor<f32>
      }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xf32>, tensor<2xf32>, tensor<f32>) -> tensor<6xf32>
      %4 = stablehlo.slice %3 [0:6] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xf32>) -> tensor<6xf32>
      %5 = stablehlo.pad %4, %arg5, low = [0], high = [2], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xf32>, tensor<f32>) -> tensor<8xf32>
      sdy.return %5 : tensor<8xf32>
    } {shardwise.made} : (tensor<16xf32>, tensor<4xf32>, tensor<f32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}
