// Aliases of attributes and types. What follows a definition on its line belongs to the program.
#map = affine_map<(d0) -> (d0)> #set = affine_set<(d0) : (d0 >= 0, d0 - 4 <= 0)> !e = f32
#x = 1 : i128 !t = tensor<2x!e> !f = (!t, tensor<complex<!e>>) -> !t !q = !quant.uniform<i8:!e, 0.5> module attributes {
  a.element = !e, a.function = !f, a.map = #map, a.quantized = !q, a.set = #set, a.type = !t, a.x = #x, a.unknown = !foo.bar<i32>
} {
  func.func @main(%a: !t, %c: tensor<complex<!e>>) -> !t { %0 = "stablehlo.real"(%c) : (tensor<complex<!e>>) -> tensor<!e> %1 = func.call @f(%a, %c) : !f
    return %1 : !t
  }
  #last = "s" : i32 func.func private @f(%.a: !t, %-: tensor<complex<f32>>) -> !t attributes {a.last = #last} {
    return %.a : !t
  }
}
// ---- expected
module attributes {a.element = f32, a.function = (tensor<2xf32>, tensor<complex<f32>>) -> tensor<2xf32>, a.map = affine_map<(d0) -> (d0)>, a.quantized = !quant.uniform<i8:f32, 0.5>, a.set = affine_set<(d0) : (d0 >= 0, d0 - 4 <= 0)>, a.type = tensor<2xf32>, a.unknown = !foo.bar<i32>, a.x = 1 : i128} {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<complex<f32>>) -> tensor<2xf32> {
    %0 = stablehlo.real %arg1 : (tensor<complex<f32>>) -> tensor<f32>
    %1 = call @f(%arg0, %arg1) : (tensor<2xf32>, tensor<complex<f32>>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  func.func private @f(%arg0: tensor<2xf32>, %arg1: tensor<complex<f32>>) -> tensor<2xf32> attributes {a.last = "s" : i32} {
    return %arg0 : tensor<2xf32>
  }
}
