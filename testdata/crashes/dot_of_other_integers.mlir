// runs
// Products of signed and unsigned integers, of integers and floats with an integer result, and of matrices by `dot`.
module {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%a: tensor<8x4xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<4x4xui8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %c: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x4xi32>, tensor<8x4xi32>, tensor<8x4xf32>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xi8>, tensor<4x4xui8>) -> tensor<8x4xi32>
    %1 = stablehlo.dot_general %c, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xui8>) -> tensor<8x4xi32>
    %2 = stablehlo.dot %c, %b : (tensor<8x4xf32>, tensor<4x4xui8>) -> tensor<8x4xf32>
    return %0, %1, %2 : tensor<8x4xi32>, tensor<8x4xi32>, tensor<8x4xf32>
  }
}
