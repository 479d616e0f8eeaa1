// A part of an axis is traded. The result has another size.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(2)2}]>}) -> (tensor<4x9xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}, {}]>}) {
  %0 = stablehlo.fft %a, type = RFFT, length = [16] : (tensor<4x16xf32>) -> tensor<4x9xcomplex<f32>>
  return %0 : tensor<4x9xcomplex<f32>>
}
// ---- expected
// before
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(2)2}]>}) -> (tensor<4x9xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}, {}]>}) {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(2)2, ?}, {?}]>]>} : (tensor<4x16xf32>) -> tensor<4x9xcomplex<f32>>
    return %0 : tensor<4x9xcomplex<f32>>
  }
}
// after
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(2)2}]>}) -> (tensor<4x9xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}, {}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{"x":(2)2}, {}]> : tensor<4x16xf32>
    %1 = stablehlo.fft %0, type = RFFT, length = [16] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(2)2}, {}]>]>} : (tensor<4x16xf32>) -> tensor<4x9xcomplex<f32>>
    return %1 : tensor<4x9xcomplex<f32>>
  }
}
