// runs
// A name starts with a point.
func.func @main(%.a: tensor<i32>) -> tensor<i32> {
  return %.a : tensor<i32>
}
