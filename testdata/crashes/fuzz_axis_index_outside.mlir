sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main() -> tensor<i32> {
  %0 = shardwise.axis_index <@mesh, {"x", "y"}> : tensor<i32>
  return %0 : tensor<i32>
}
