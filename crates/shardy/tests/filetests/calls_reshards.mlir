// run: sdy-insert-func-call-reshards
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = call @f(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = call @f(%b) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = call @f(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
func.func private @f(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = call @g(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func private @g(%a: tensor<8x4xf32>) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
  %0 = stablehlo.exponential %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
    %0 = call @f(%arg0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = call @f(%arg1) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = call @f(%0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0, %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
  func.func private @f(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = call @g(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = sdy.reshard %0 <@mesh, [{}, {}]> : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
  func.func private @g(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    %0 = stablehlo.exponential %arg0 : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
