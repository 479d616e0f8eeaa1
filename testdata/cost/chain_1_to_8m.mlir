// calls: 2
module {
 func.func public @main(%x0: tensor<512x512xf32>, %x1: tensor<512x1024xf32>, %x2: tensor<768x1024xf32>, %x3: tensor<1024x1024xf32>, %x4: tensor<1024x1536xf32>, %x5: tensor<2048x1024xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %t0 = stablehlo.transpose %x0, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %r0 = stablehlo.reverse %t0, dims = [0] : tensor<512x512xf32>
  %u0 = stablehlo.transpose %r0, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %c0 = stablehlo.constant dense<0.0> : tensor<f32>
  %s0 = stablehlo.reduce(%u0 init: %c0) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<f32>
  %t1 = stablehlo.transpose %x1, dims = [1, 0] : (tensor<512x1024xf32>) -> tensor<1024x512xf32>
  %r1 = stablehlo.reverse %t1, dims = [0] : tensor<1024x512xf32>
  %u1 = stablehlo.transpose %r1, dims = [1, 0] : (tensor<1024x512xf32>) -> tensor<512x1024xf32>
  %c1 = stablehlo.constant dense<0.0> : tensor<f32>
  %s1 = stablehlo.reduce(%u1 init: %c1) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x1024xf32>, tensor<f32>) -> tensor<f32>
  %t2 = stablehlo.transpose %x2, dims = [1, 0] : (tensor<768x1024xf32>) -> tensor<1024x768xf32>
  %r2 = stablehlo.reverse %t2, dims = [0] : tensor<1024x768xf32>
  %u2 = stablehlo.transpose %r2, dims = [1, 0] : (tensor<1024x768xf32>) -> tensor<768x1024xf32>
  %c2 = stablehlo.constant dense<0.0> : tensor<f32>
  %s2 = stablehlo.reduce(%u2 init: %c2) applies stablehlo.add across dimensions = [0, 1] : (tensor<768x1024xf32>, tensor<f32>) -> tensor<f32>
  %t3 = stablehlo.transpose %x3, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %r3 = stablehlo.reverse %t3, dims = [0] : tensor<1024x1024xf32>
  %u3 = stablehlo.transpose %r3, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %c3 = stablehlo.constant dense<0.0> : tensor<f32>
  %s3 = stablehlo.reduce(%u3 init: %c3) applies stablehlo.add across dimensions = [0, 1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<f32>
  %t4 = stablehlo.transpose %x4, dims = [1, 0] : (tensor<1024x1536xf32>) -> tensor<1536x1024xf32>
  %r4 = stablehlo.reverse %t4, dims = [0] : tensor<1536x1024xf32>
  %u4 = stablehlo.transpose %r4, dims = [1, 0] : (tensor<1536x1024xf32>) -> tensor<1024x1536xf32>
  %c4 = stablehlo.constant dense<0.0> : tensor<f32>
  %s4 = stablehlo.reduce(%u4 init: %c4) applies stablehlo.add across dimensions = [0, 1] : (tensor<1024x1536xf32>, tensor<f32>) -> tensor<f32>
  %t5 = stablehlo.transpose %x5, dims = [1, 0] : (tensor<2048x1024xf32>) -> tensor<1024x2048xf32>
  %r5 = stablehlo.reverse %t5, dims = [0] : tensor<1024x2048xf32>
  %u5 = stablehlo.transpose %r5, dims = [1, 0] : (tensor<1024x2048xf32>) -> tensor<2048x1024xf32>
  %c5 = stablehlo.constant dense<0.0> : tensor<f32>
  %s5 = stablehlo.reduce(%u5 init: %c5) applies stablehlo.add across dimensions = [0, 1] : (tensor<2048x1024xf32>, tensor<f32>) -> tensor<f32>
  return %s0, %s1, %s2, %s3, %s4, %s5 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
 }
}
