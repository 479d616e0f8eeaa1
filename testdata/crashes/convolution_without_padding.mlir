// runs
// A convolution without padding of 64 split rows to 62 moves halos only: it had moved the whole image.
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func @main(%a: tensor<2x64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %w: tensor<3x8x8xf32>) -> (tensor<2x62x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) {
    %0 = stablehlo.convolution(%a, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x64x8xf32>, tensor<3x8x8xf32>) -> tensor<2x62x8xf32>
    return %0 : tensor<2x62x8xf32>
  }
}
