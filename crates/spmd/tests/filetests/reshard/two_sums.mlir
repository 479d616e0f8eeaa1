// Two sums in one pass over dimensions that are both split. Each is combined by an all-reduce of one number, and the
// initial value counts once.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %c: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %square = stablehlo.multiply %a, %a : tensor<4x8xf32>
  %0:2 = stablehlo.reduce(%a init: %c), (%square init: %c) across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    reducer(%v: tensor<f32>, %w: tensor<f32>) (%m: tensor<f32>, %n: tensor<f32>) {
      %1 = stablehlo.add %v, %w : tensor<f32>
      %2 = stablehlo.add %m, %n : tensor<f32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
    }
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %arg1: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0 = stablehlo.multiply %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y", ?}, {"x", ?}]>]>} : tensor<4x8xf32>
    %1:2 = stablehlo.reduce(%arg0 init: %arg1), (%0 init: %arg1) across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
     reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<f32>, %arg5: tensor<f32>) {
      %2 = stablehlo.add %arg2, %arg4 : tensor<f32>
      %3 = stablehlo.add %arg3, %arg5 : tensor<f32>
      stablehlo.return %2, %3 : tensor<f32>, tensor<f32>
    }
    return %1#0, %1#1 : tensor<f32>, tensor<f32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
    %0 = stablehlo.multiply %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : tensor<4x8xf32>
    %1:2 = stablehlo.reduce(%arg0 init: %arg1), (%0 init: %arg1) across dimensions = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced={"x", "y"}>, <@mesh, [], unreduced={"x", "y"}>]>} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
     reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<f32>, %arg5: tensor<f32>) {
      %4 = stablehlo.add %arg2, %arg4 : tensor<f32>
      %5 = stablehlo.add %arg3, %arg5 : tensor<f32>
      stablehlo.return %4, %5 : tensor<f32>, tensor<f32>
    }
    %2 = sdy.all_reduce {"x", "y"} %1#0 out_sharding=<@mesh, []> : tensor<f32>
    %3 = sdy.all_reduce {"x", "y"} %1#1 out_sharding=<@mesh, []> : tensor<f32>
    return %2, %3 : tensor<f32>, tensor<f32>
  }
}
