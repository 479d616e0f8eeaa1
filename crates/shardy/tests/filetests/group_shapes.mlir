// run: sdy-sharding-group-import
func.func @main(%a: tensor<8xf32>, %b: tensor<4xf32>) -> tensor<8xf32> {
  sdy.sharding_group %a group_id=1 : tensor<8xf32>
  sdy.sharding_group %b group_id=1 : tensor<4xf32>
  return %a : tensor<8xf32>
}
// ---- expected
error[sharding-group]: the members of sharding group 0 have different shapes
  --> test.mlir:4:3
   = help: only values of one shape can be sharded alike
