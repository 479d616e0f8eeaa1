// Each device counts from its own position.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main() -> (tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.iota dim = 0 : tensor<8xi32>
  return %0 : tensor<8xi32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main() -> (tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %0 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xi32>
    return %0 : tensor<8xi32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main() -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, shardwise.global_type = tensor<8xi32>}) {
    %0 = shardwise.axis_index <@mesh, {"x"}> : tensor<i32>
    %1 = stablehlo.constant dense<4> : tensor<i32>
    %2 = stablehlo.multiply %0, %1 : tensor<i32>
    %3 = stablehlo.iota dim = 0 : tensor<4xi32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %5 = stablehlo.add %3, %4 : tensor<4xi32>
    return %5 : tensor<4xi32>
  }
}
