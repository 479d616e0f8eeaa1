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
