// runs
// Devices that do not take the outer branch have no result of the inner one.
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
    %i = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %1 = "stablehlo.case"(%i) ({
      stablehlo.return %b : tensor<2xf32>
    }, {
      %2 = "stablehlo.case"(%i) ({
        stablehlo.return %b : tensor<2xf32>
      }, {
        %n = stablehlo.negate %b : tensor<2xf32>
        stablehlo.return %n : tensor<2xf32>
      }) : (tensor<i32>) -> tensor<2xf32>
      %3 = stablehlo.abs %2 : tensor<2xf32>
      stablehlo.return %3 : tensor<2xf32>
    }) : (tensor<i32>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
