// refused
// The product of the concatenated dimension and the group's size overflowed.
func.func @main(%a: tensor<0x288230376151711744xi8>) -> tensor<0x4xi8> {
  %0 = "stablehlo.all_to_all"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63]]> : tensor<1x64xi64>, split_count = 64 : i64, split_dimension = 0 : i64}> : (tensor<0x288230376151711744xi8>) -> tensor<0x4xi8>
  return %0 : tensor<0x4xi8>
}
