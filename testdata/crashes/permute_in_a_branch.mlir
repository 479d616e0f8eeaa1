// runs
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, %p: tensor<2xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xi32> {
  %0 = sdy.manual_computation(%a, %p) in_shardings=[<@mesh, [{"y"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%part: tensor<2xi32>, %q: tensor<1xi1>) {
    %taken = stablehlo.reshape %q : (tensor<1xi1>) -> tensor<i1>
    %1 = "stablehlo.if"(%taken) ({
      %2 = stablehlo.add %part, %part : tensor<2xi32>
      %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0], [2, 3], [3, 2]]> : tensor<4x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
      stablehlo.return %3 : tensor<2xi32>
    }, {
      stablehlo.return %part : tensor<2xi32>
    }) : (tensor<i1>) -> tensor<2xi32>
    sdy.return %1 : tensor<2xi32>
  } : (tensor<4xi32>, tensor<2xi1>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}
