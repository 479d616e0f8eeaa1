// calls: 3
module {
 func.func public @main(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n0 = stablehlo.tanh %0 : tensor<512x512xf32>
  %m0 = stablehlo.reverse %n0, dims = [1] : tensor<512x512xf32>
  %1 = stablehlo.transpose %m0, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n1 = stablehlo.tanh %1 : tensor<512x512xf32>
  %m1 = stablehlo.reverse %n1, dims = [1] : tensor<512x512xf32>
  %2 = stablehlo.transpose %m1, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n2 = stablehlo.tanh %2 : tensor<512x512xf32>
  %m2 = stablehlo.reverse %n2, dims = [1] : tensor<512x512xf32>
  %3 = stablehlo.transpose %m2, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n3 = stablehlo.tanh %3 : tensor<512x512xf32>
  %m3 = stablehlo.reverse %n3, dims = [1] : tensor<512x512xf32>
  %4 = stablehlo.transpose %m3, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n4 = stablehlo.tanh %4 : tensor<512x512xf32>
  %m4 = stablehlo.reverse %n4, dims = [1] : tensor<512x512xf32>
  %5 = stablehlo.transpose %m4, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n5 = stablehlo.tanh %5 : tensor<512x512xf32>
  %m5 = stablehlo.reverse %n5, dims = [1] : tensor<512x512xf32>
  %6 = stablehlo.transpose %m5, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n6 = stablehlo.tanh %6 : tensor<512x512xf32>
  %m6 = stablehlo.reverse %n6, dims = [1] : tensor<512x512xf32>
  %7 = stablehlo.transpose %m6, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n7 = stablehlo.tanh %7 : tensor<512x512xf32>
  %m7 = stablehlo.reverse %n7, dims = [1] : tensor<512x512xf32>
  return %m7 : tensor<512x512xf32>
 }
}
