// calls: 200
module {
 func.func public @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %d0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e0 = stablehlo.add %d0, %x : tensor<16x16xf32>
  %d1 = stablehlo.transpose %e0, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e1 = stablehlo.add %d1, %x : tensor<16x16xf32>
  %d2 = stablehlo.transpose %e1, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e2 = stablehlo.add %d2, %x : tensor<16x16xf32>
  %d3 = stablehlo.transpose %e2, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e3 = stablehlo.add %d3, %x : tensor<16x16xf32>
  %d4 = stablehlo.transpose %e3, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e4 = stablehlo.add %d4, %x : tensor<16x16xf32>
  %d5 = stablehlo.transpose %e4, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e5 = stablehlo.add %d5, %x : tensor<16x16xf32>
  %d6 = stablehlo.transpose %e5, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e6 = stablehlo.add %d6, %x : tensor<16x16xf32>
  %d7 = stablehlo.transpose %e6, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e7 = stablehlo.add %d7, %x : tensor<16x16xf32>
  %d8 = stablehlo.transpose %e7, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e8 = stablehlo.add %d8, %x : tensor<16x16xf32>
  %d9 = stablehlo.transpose %e8, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e9 = stablehlo.add %d9, %x : tensor<16x16xf32>
  %d10 = stablehlo.transpose %e9, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e10 = stablehlo.add %d10, %x : tensor<16x16xf32>
  %d11 = stablehlo.transpose %e10, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e11 = stablehlo.add %d11, %x : tensor<16x16xf32>
  %d12 = stablehlo.transpose %e11, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e12 = stablehlo.add %d12, %x : tensor<16x16xf32>
  %d13 = stablehlo.transpose %e12, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e13 = stablehlo.add %d13, %x : tensor<16x16xf32>
  %d14 = stablehlo.transpose %e13, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e14 = stablehlo.add %d14, %x : tensor<16x16xf32>
  %d15 = stablehlo.transpose %e14, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e15 = stablehlo.add %d15, %x : tensor<16x16xf32>
  %d16 = stablehlo.transpose %e15, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e16 = stablehlo.add %d16, %x : tensor<16x16xf32>
  %d17 = stablehlo.transpose %e16, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e17 = stablehlo.add %d17, %x : tensor<16x16xf32>
  %d18 = stablehlo.transpose %e17, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e18 = stablehlo.add %d18, %x : tensor<16x16xf32>
  %d19 = stablehlo.transpose %e18, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e19 = stablehlo.add %d19, %x : tensor<16x16xf32>
  %d20 = stablehlo.transpose %e19, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e20 = stablehlo.add %d20, %x : tensor<16x16xf32>
  %d21 = stablehlo.transpose %e20, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e21 = stablehlo.add %d21, %x : tensor<16x16xf32>
  %d22 = stablehlo.transpose %e21, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e22 = stablehlo.add %d22, %x : tensor<16x16xf32>
  %d23 = stablehlo.transpose %e22, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e23 = stablehlo.add %d23, %x : tensor<16x16xf32>
  %d24 = stablehlo.transpose %e23, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e24 = stablehlo.add %d24, %x : tensor<16x16xf32>
  %d25 = stablehlo.transpose %e24, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e25 = stablehlo.add %d25, %x : tensor<16x16xf32>
  %d26 = stablehlo.transpose %e25, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e26 = stablehlo.add %d26, %x : tensor<16x16xf32>
  %d27 = stablehlo.transpose %e26, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e27 = stablehlo.add %d27, %x : tensor<16x16xf32>
  %d28 = stablehlo.transpose %e27, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e28 = stablehlo.add %d28, %x : tensor<16x16xf32>
  %d29 = stablehlo.transpose %e28, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e29 = stablehlo.add %d29, %x : tensor<16x16xf32>
  %d30 = stablehlo.transpose %e29, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e30 = stablehlo.add %d30, %x : tensor<16x16xf32>
  %d31 = stablehlo.transpose %e30, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e31 = stablehlo.add %d31, %x : tensor<16x16xf32>
  %d32 = stablehlo.transpose %e31, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e32 = stablehlo.add %d32, %x : tensor<16x16xf32>
  %d33 = stablehlo.transpose %e32, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e33 = stablehlo.add %d33, %x : tensor<16x16xf32>
  %d34 = stablehlo.transpose %e33, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e34 = stablehlo.add %d34, %x : tensor<16x16xf32>
  %d35 = stablehlo.transpose %e34, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e35 = stablehlo.add %d35, %x : tensor<16x16xf32>
  %d36 = stablehlo.transpose %e35, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e36 = stablehlo.add %d36, %x : tensor<16x16xf32>
  %d37 = stablehlo.transpose %e36, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e37 = stablehlo.add %d37, %x : tensor<16x16xf32>
  %d38 = stablehlo.transpose %e37, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e38 = stablehlo.add %d38, %x : tensor<16x16xf32>
  %d39 = stablehlo.transpose %e38, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %e39 = stablehlo.add %d39, %x : tensor<16x16xf32>
  return %e39 : tensor<16x16xf32>
 }
}
