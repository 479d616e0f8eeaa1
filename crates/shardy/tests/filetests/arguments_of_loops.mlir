// run: sdy-insert-explicit-reshards{enable-full-version=true},sdy-reshard-to-collectives
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @of_a_while(%a: tensor<8x8xf32>, %p: tensor<i1>) -> tensor<8x8xf32> {
  %0 = stablehlo.while(%x = %a) : tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %1 = sdy.reshard %x <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
    stablehlo.return %1 : tensor<8x8xf32>
  }
  return %0 : tensor<8x8xf32>
}
func.func @of_a_manual_computation(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x", "y"}>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}], unreduced={"x", "y"}>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%b: tensor<8xf32>) {
    %1 = stablehlo.abs %b : tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @of_a_while(%arg0: tensor<8x8xf32>, %arg1: tensor<i1>) -> tensor<8x8xf32> {
    %0 = sdy.all_slice [{"x"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    %1 = stablehlo.while(%iterArg = %0) : tensor<8x8xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
    cond {
      stablehlo.return %arg1 : tensor<i1>
    } do {
      %3 = sdy.all_to_all [{"x"}: 0->1] %iterArg out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x8xf32>
      %4 = sdy.all_to_all [{"x"}: 1->0] %3 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
      stablehlo.return %4 : tensor<8x8xf32>
    }
    %2 = sdy.all_gather [{"x"}, {}] %1 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
  func.func @of_a_manual_computation(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x", "y"}>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}], unreduced={"x", "y"}>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%arg1: tensor<8xf32>) {
      %1 = sdy.all_reduce {"y"} %arg1 out_sharding=<@mesh, [{}]> : tensor<8xf32>
      %2 = stablehlo.abs %1 : tensor<8xf32>
      sdy.return %2 : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
