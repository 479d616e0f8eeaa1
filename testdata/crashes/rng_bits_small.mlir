// runs
// Random bits of small integers are whole bytes: elements of i4 are 84, -45, ... in place of numbers from -8 to 7.
func.func @main() {
  %s = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %n, %o = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xi4>)
  %w = stablehlo.convert %o : (tensor<6xi4>) -> tensor<6xi32>
  %seven = stablehlo.constant dense<7> : tensor<6xi32>
  %0 = stablehlo.compare LE, %w, %seven : (tensor<6xi32>, tensor<6xi32>) -> tensor<6xi1>
  check.expect_eq_const %0, dense<true> : tensor<6xi1>
  return
}
