// runs
// A sum over devices is deferred past reduce_precision, which then rounds the summands and not the sum.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<256x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x256xf32>, tensor<256x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.reduce_precision %0, format = e8m2 : tensor<8x8xf32>
  %2 = stablehlo.slice %1 [0:8, 0:1] : (tensor<8x8xf32>) -> tensor<8x1xf32>
  return %2 : tensor<8x1xf32>
}
