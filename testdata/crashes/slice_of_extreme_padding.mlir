// runs
// A slice of a padding with extreme amounts is read through with an overflowing amount, and the module is then invalid.
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<10xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %b: tensor<f32>) -> (tensor<8xf32>{sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) {
  %0 = stablehlo.pad %a, %b, low = [-9223372036854775808], high = [9223372036854775807], interior = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<9xf32>
  %1 = stablehlo.slice %0 [1:9] : (tensor<9xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
