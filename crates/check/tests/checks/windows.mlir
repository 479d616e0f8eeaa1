// Devices with parts of the batch, of the features, or of both, share the other operand.
sdy.mesh @m = <["x"=2, "y"=2]>
func.func @main() {
  %b = stablehlo.iota dim = 0 : tensor<4x6x3xf32>
  %o = stablehlo.iota dim = 2 : tensor<3x3x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.iota dim = 0 : tensor<4x6x4xf32>
  %j = stablehlo.iota dim = 2 : tensor<4x6x4xf32>
  %ij = stablehlo.multiply %i, %j : tensor<4x6x4xf32>
  %row = stablehlo.constant dense<[6.0, 9.0, 9.0, 9.0, 9.0, 6.0]> : tensor<6xf32>
  %rows = stablehlo.broadcast_in_dim %row, dims = [1] : (tensor<6xf32>) -> tensor<4x6x4xf32>
  %want = stablehlo.multiply %ij, %rows : tensor<4x6x4xf32>

  %b0 = sdy.sharding_constraint %b <@m, [{"x"}, {}, {}]> : tensor<4x6x3xf32>
  %o0 = sdy.sharding_constraint %o <@m, [{}, {}, {"y"}]> : tensor<3x3x4xf32>
  %0 = stablehlo.convolution(%b0, %o0) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6x3xf32>, tensor<3x3x4xf32>) -> tensor<4x6x4xf32>
  check.expect_eq %0, %want : tensor<4x6x4xf32>

  %b1 = sdy.sharding_constraint %b <@m, [{"x", "y"}, {}, {}]> : tensor<4x6x3xf32>
  %1 = stablehlo.convolution(%b1, %o) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6x3xf32>, tensor<3x3x4xf32>) -> tensor<4x6x4xf32>
  check.expect_eq %1, %want : tensor<4x6x4xf32>

  %w0 = sdy.sharding_constraint %want <@m, [{"x"}, {}, {"y"}]> : tensor<4x6x4xf32>
  %2 = "stablehlo.reduce_window"(%w0, %zero) <{window_dimensions = array<i64: 1, 6, 1>, padding = dense<[[0, 0], [5, 0], [0, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6x4xf32>, tensor<f32>) -> tensor<4x6x4xf32>
  %sums = stablehlo.constant dense<[6.0, 15.0, 24.0, 33.0, 42.0, 48.0]> : tensor<6xf32>
  %sum = stablehlo.broadcast_in_dim %sums, dims = [1] : (tensor<6xf32>) -> tensor<4x6x4xf32>
  %want_sum = stablehlo.multiply %ij, %sum : tensor<4x6x4xf32>
  check.expect_eq %2, %want_sum : tensor<4x6x4xf32>

  %w1 = sdy.sharding_constraint %j <@m, [{"x"}, {"y"}, {}]> : tensor<4x6x4xf32>
  %3:2 = "stablehlo.sort"(%w1, %i) <{dimension = 2 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %u: tensor<f32>, %v: tensor<f32>):
    %c = stablehlo.compare GT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4x6x4xf32>, tensor<4x6x4xf32>) -> (tensor<4x6x4xf32>, tensor<4x6x4xf32>)
  %back = stablehlo.reverse %j, dims = [2] : tensor<4x6x4xf32>
  check.expect_eq %3#0, %back : tensor<4x6x4xf32>
  check.expect_eq %3#1, %i : tensor<4x6x4xf32>
  return
}
