// runs
// An elementwise op on 4 elements over 8 devices runs on the parts: it had gathered its operand.
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func @main(%a: tensor<1x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<1x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.negate %a : tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }
}
