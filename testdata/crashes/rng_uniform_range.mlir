// runs
// Uniform numbers of [-1.7e308, 1.7e308) are all -1.7e308, because b - a overflows.
func.func @main() {
  %a = stablehlo.constant dense<-1.7e308> : tensor<f64>
  %b = stablehlo.constant dense<1.7e308> : tensor<f64>
  %s = stablehlo.constant dense<2> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<2xf64>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<2xf64>
  %2 = stablehlo.compare NE, %0, %1 : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xi1>
  check.expect_eq_const %2, dense<true> : tensor<2xi1>
  return
}
