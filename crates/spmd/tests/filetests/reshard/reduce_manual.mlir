// A manual computation in a reducer keeps its shardings.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<f32>) -> tensor<4xf32> {
  %0 = stablehlo.reduce(%a init: %i) across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%p: tensor<f32>, %q: tensor<f32>) {
    %1 = stablehlo.add %p, %q : tensor<f32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, []>] out_shardings=[<@mesh, []>] manual_axes={} (%r: tensor<f32>) {
      sdy.return %r : tensor<f32>
    } : (tensor<f32>) -> tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }
  return %0 : tensor<4xf32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<f32>) -> tensor<4xf32> {
    %0 = stablehlo.reduce(%arg0 init: %arg1) across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
     reducer(%arg2: tensor<f32>, %arg3: tensor<f32>) {
      %1 = stablehlo.add %arg2, %arg3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : tensor<f32>
      %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, []>] out_shardings=[<@mesh, []>] manual_axes={} (%arg4: tensor<f32>) {
        sdy.return %arg4 : tensor<f32>
      } : (tensor<f32>) -> tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }
    return %0 : tensor<4xf32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<8x4xf32>
    %1 = stablehlo.reduce(%0 init: %arg1) across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
     reducer(%arg2: tensor<f32>, %arg3: tensor<f32>) {
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, []>] out_shardings=[<@mesh, []>] manual_axes={} (%arg4: tensor<f32>) {
        sdy.return %arg4 : tensor<f32>
      } : (tensor<f32>) -> tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }
    return %1 : tensor<4xf32>
  }
}
