// runs
// A product of floats and integers, as JAX lowers it for TPUs: both are converted to the type of the result.
module @m {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<4x4xi32>) -> tensor<8x4xf32> {
    %r = stablehlo.dot_general %x, %i, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xi32>) -> tensor<8x4xf32>
    return %r : tensor<8x4xf32>
  }
}
