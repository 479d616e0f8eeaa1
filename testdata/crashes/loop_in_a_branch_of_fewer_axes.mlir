// runs
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%n: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}, %p: tensor<2xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<4xi32> {
  %0 = sdy.manual_computation(%n, %p) in_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, [{"y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%part: tensor<1xi32>, %q: tensor<1xi1>) {
    %taken = stablehlo.reshape %q : (tensor<1xi1>) -> tensor<i1>
    %first = stablehlo.reshape %part : (tensor<1xi32>) -> tensor<i32>
    %1 = "stablehlo.if"(%taken) ({
      %2 = stablehlo.while(%i = %first) : tensor<i32>
      cond {
        %limit = stablehlo.constant dense<5> : tensor<i32>
        %more = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %two = stablehlo.constant dense<2> : tensor<i32>
        %next = stablehlo.add %i, %two : tensor<i32>
        stablehlo.return %next : tensor<i32>
      }
      stablehlo.return %2 : tensor<i32>
    }, {
      stablehlo.return %first : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    %3 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
    sdy.return %3 : tensor<1xi32>
  } : (tensor<4xi32>, tensor<2xi1>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
