// run: sdy-basic-propagate
// Members that differ are each followed by a constraint, and those are the members.
sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  sdy.sharding_group %b group_id=0 : tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}
// ---- expected
module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=3]>
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}]>}) {
    %0 = sdy.sharding_constraint %arg1 <@mesh, [{"y", ?}]> : tensor<8xf32>
    %1 = sdy.sharding_constraint %arg0 <@mesh, [{"y", ?}]> : tensor<8xf32>
    sdy.sharding_group %1 group_id=0 : tensor<8xf32>
    sdy.sharding_group %0 group_id=0 : tensor<8xf32>
    return %1, %0 : tensor<8xf32>, tensor<8xf32>
  }
}
