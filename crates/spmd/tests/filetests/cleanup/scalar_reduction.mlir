// A reduction of known scalars is not folded: a constant could not hold its region.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main() -> tensor<i32> {
  %a = stablehlo.constant dense<3> : tensor<i32>
  %z = stablehlo.constant dense<4> : tensor<i32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main() -> (tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<i32>}) {
    %0 = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.constant dense<4> : tensor<i32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
    return %2 : tensor<i32>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main() -> (tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>, shardwise.global_type = tensor<i32>}) {
    %0 = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.constant dense<4> : tensor<i32>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [] : (tensor<i32>, tensor<i32>) -> tensor<i32>
    return %2 : tensor<i32>
  }
}
