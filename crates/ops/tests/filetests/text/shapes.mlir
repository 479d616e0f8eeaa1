func.func @main(%arg0: tensor<4x6xf32>, %i: tensor<i32>, %s: tensor<f32>) {
  %0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x6xi32>
  %1 = "stablehlo.broadcast_in_dim"(%s) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x6xf32>
  %2 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %3 = "stablehlo.slice"(%arg0) <{limit_indices = array<i64: 4, 6>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 2>}> : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %4 = "stablehlo.dynamic_slice"(%arg0, %i, %i) <{slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
  %5 = "stablehlo.dynamic_update_slice"(%arg0, %4, %i, %i) : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  %6 = "stablehlo.concatenate"(%arg0, %5) <{dimension = 0 : i64}> : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %7 = "stablehlo.pad"(%arg0, %s) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 0, -1>, interior_padding = array<i64: 0, 2>}> : (tensor<4x6xf32>, tensor<f32>) -> tensor<5x15xf32>
  %8 = "stablehlo.reverse"(%arg0) <{dimensions = array<i64: 0>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %9 = stablehlo.reshape %arg0 : (tensor<4x6xf32>) -> tensor<24xf32>
  %10 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<4x6xf32>) -> tensor<i32>
  %11 = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
  return
}
// ---- expected
module {
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<i32>, %arg2: tensor<f32>) {
    %0 = stablehlo.iota dim = 1 : tensor<4x6xi32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %2 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %3 = stablehlo.slice %arg0 [0:4, 1:6:2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
    %4 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [1, 6] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
    %5 = stablehlo.dynamic_update_slice %arg0, %4, %arg1, %arg1 : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    %6 = stablehlo.concatenate %arg0, %5, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %7 = stablehlo.pad %arg0, %arg2, low = [0, -1], high = [1, 0], interior = [0, 2] : (tensor<4x6xf32>, tensor<f32>) -> tensor<5x15xf32>
    %8 = stablehlo.reverse %arg0, dims = [0] : tensor<4x6xf32>
    %9 = stablehlo.reshape %arg0 : (tensor<4x6xf32>) -> tensor<24xf32>
    %10 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<4x6xf32>) -> tensor<i32>
    %11 = stablehlo.slice %arg2 [] : (tensor<f32>) -> tensor<f32>
    return
  }
}
