// runs
// A gather whose batching dimension has one element, with operands and results that are split along it.
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<1x5xi16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<2x1x1xi64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}) -> (tensor<2x1xi16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<1x5xi16>, tensor<2x1x1xi64>) -> tensor<2x1xi16>
    return %0 : tensor<2x1xi16>
  }
}
