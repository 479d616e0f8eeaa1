// run: sdy-sharding-group-import
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %d: tensor<8xf32>) -> tensor<8xf32> {
  sdy.sharding_group %a group_id=30 : tensor<8xf32>
  sdy.sharding_group %b group_id=30 : tensor<8xf32>
  sdy.sharding_group %b group_id=10 : tensor<8xf32>
  sdy.sharding_group %c group_id=10 : tensor<8xf32>
  sdy.sharding_group %d group_id=20 : tensor<8xf32>
  return %a : tensor<8xf32>
}
// ---- expected
module {
  func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>) -> tensor<8xf32> {
    sdy.sharding_group %arg0 group_id=0 : tensor<8xf32>
    sdy.sharding_group %arg1 group_id=0 : tensor<8xf32>
    sdy.sharding_group %arg2 group_id=0 : tensor<8xf32>
    sdy.sharding_group %arg3 group_id=1 : tensor<8xf32>
    return %arg0 : tensor<8xf32>
  }
}
