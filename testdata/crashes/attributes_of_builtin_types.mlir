// runs
// Attributes of another dialect have builtin types that no tensor here has.
func.func @main() attributes {foo.a = 1 : i128, foo.b = -1 : si32, foo.c = 1.0 : tf32, foo.d = tuple<i32>, foo.e = tensor<?x4xf32>, foo.f = affine_set<(d0) : (d0 >= 0)>} {
  return
}
