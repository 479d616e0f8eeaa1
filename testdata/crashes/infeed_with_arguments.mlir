// What an infeed reads takes an argument that nobody gives it.
func.func @main() -> tensor<2xf32> {
  %0 = "interpreter.run_parallel"() <{infeed = [@source], programs = [[@reader]]}> : () -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @source(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  return %arg0 : tensor<2xf32>
}
func.func private @reader() -> tensor<2xf32> {
  %token = stablehlo.create_token : !stablehlo.token
  %0:2 = "stablehlo.infeed"(%token) <{infeed_config = "", layout = []}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %0#0 : tensor<2xf32>
}
