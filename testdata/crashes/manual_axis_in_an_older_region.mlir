// refused
// Inside a per-device region in the older notation a constraint splits a value over devices again, and half of the result is wrong.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<8xf32>) -> tensor<8xf32>
  %p = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %z = stablehlo.custom_call @Sharding(%p) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<2xf32>) -> tensor<2xf32>
  %r = stablehlo.reverse %z, dims = [0] : tensor<2xf32>
  %s = stablehlo.custom_call @Sharding(%r) {mhlo.sharding = "{manual}"} : (tensor<2xf32>) -> tensor<2xf32>
  %t = stablehlo.custom_call @SPMDShardToFullShape(%s) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  return %t : tensor<8xf32>
}
}
