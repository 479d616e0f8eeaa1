// run: sdy-insert-explicit-reshards{enable-full-version=true}
// Both operands want "x" for another factor: the larger tensors keep it.
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @main(%a: tensor<12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<16x48xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<12x48xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<12x16xf32>, tensor<16x48xf32>) -> tensor<12x48xf32>
  return %0 : tensor<12x48xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
  func.func @main(%arg0: tensor<12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<16x48xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<12x48xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = sdy.reshard %arg0 <@mesh, [{}, {"y"}]> : tensor<12x16xf32>
    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<12x16xf32>, tensor<16x48xf32>) -> tensor<12x48xf32>
    %2 = sdy.all_reduce {"y"} %1 out_sharding=<@mesh, [{}, {"x"}]> : tensor<12x48xf32>
    %3 = sdy.reshard %2 <@mesh, [{"x"}, {}]> : tensor<12x48xf32>
    %4 = sdy.reshard %3 <@mesh, [{}, {"x"}]> : tensor<12x48xf32>
    return %4 : tensor<12x48xf32>
  }
}
