sdy.mesh @mesh = <["x"=8, "y"=2]>
func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2, ?}p1, {?}], replicated={"x":(1)2}, unreduced={"y"}>},
                %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>},
                %arg2: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<mesh<["z"=4]>, [{"z"}, {}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8x4xf32>) {
  %0 = stablehlo.add %arg0, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)4, "y"}, {}]>]>} : tensor<8x4xf32>
  %1:2 = "stablehlo.optimization_barrier"(%0, %arg1) {sdy.sharding = #sdy.sharding_per_value<[#sdy.sharding<@mesh, [{"y"}, {}]>, <@mesh, []>]>} : (tensor<8x4xf32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<f32>)
  return %1#0, %0 : tensor<8x4xf32>, tensor<8x4xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=8, "y"=2]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2, ?}p1, {?}], replicated={"x":(1)2}, unreduced={"y"}>}, %arg1: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}, %arg2: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<mesh<["z"=4]>, [{"z"}, {}]>}) -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8x4xf32>) {
    %0 = stablehlo.add %arg0, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)4, "y"}, {}]>]>} : tensor<8x4xf32>
    %1:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>, <@mesh, []>]>} %0, %arg1 : tensor<8x4xf32>, tensor<f32>
    return %1#0, %0 : tensor<8x4xf32>, tensor<8x4xf32>
  }
}
