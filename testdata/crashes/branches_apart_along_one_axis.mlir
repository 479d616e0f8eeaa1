// runs
// The predicate differs along "x" only, which cannot be seen from its permutes over both axes. The sum is along "y".
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func public @main(%a: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>}, %b: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %size = stablehlo.abs %a : tensor<2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %positive = stablehlo.add %size, %one : tensor<2xf32>
  %signs = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %0 = stablehlo.multiply %positive, %signs : tensor<2xf32>
  %both = sdy.sharding_constraint %0 <@mesh, [{"y", "x"}]> : tensor<2xf32>
  %r = sdy.manual_computation(%both, %b) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%c: tensor<1xf32>, %d: tensor<4x3xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %e = stablehlo.reshape %c : (tensor<1xf32>) -> tensor<f32>
    %p = stablehlo.compare GT, %e, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = "stablehlo.if"(%p) ({
      %0 = stablehlo.constant dense<1.0> : tensor<3xf32>
      stablehlo.return %0 : tensor<3xf32>
    }, {
      %0 = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>
      stablehlo.return %0 : tensor<3xf32>
    }) : (tensor<i1>) -> tensor<3xf32>
    sdy.return %s : tensor<3xf32>
  } : (tensor<2xf32>, tensor<4x3xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}
