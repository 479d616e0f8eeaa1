// refused
// Padded for two devices, these arrays would have more than 2^59 elements.
sdy.mesh @mesh = <["x"=2]>
func.func @main() -> (tensor<576460752303423487xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.constant dense<1> : tensor<576460752303423487xi8>
  %1 = stablehlo.constant dense<2> : tensor<576460752303423487xi8>
  %2 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<576460752303423487xi8>
  %3 = stablehlo.reverse %2, dims = [0] : tensor<576460752303423487xi8>
  return %3 : tensor<576460752303423487xi8>
}
