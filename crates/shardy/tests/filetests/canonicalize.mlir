// run: canonicalize
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=1]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %1 = sdy.all_gather [{}, {}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %2 = sdy.all_reduce {"y"} %1 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %3 = sdy.all_slice [{}, {"y"}] %2 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  %4 = sdy.reshard %a <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
  %5 = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = sdy.reshard %5 <@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  %7 = sdy.manual_computation(%a, %4) in_shardings=[<@mesh, [{"z"}, {}]>, <@mesh, [{}, {}]>] out_shardings=[<@mesh, [{"z"}, {}]>] manual_axes={"z"} (%b: tensor<8x8xf32>, %c: tensor<8x8xf32>) {
    %8 = stablehlo.negate %b : tensor<8x8xf32>
    sdy.return %8 : tensor<8x8xf32>
  } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3, %4, %6, %7 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=1]>
  func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = sdy.reduce_scatter [{}, {"y"}] %arg0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
    %1 = sdy.reshard %arg0 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"z"}, {}]>] out_shardings=[<@mesh, [{"z"}, {}]>] manual_axes={"z"} (%arg1: tensor<8x8xf32>) {
      %4 = stablehlo.negate %arg1 : tensor<8x8xf32>
      sdy.return %4 : tensor<8x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0, %1, %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
