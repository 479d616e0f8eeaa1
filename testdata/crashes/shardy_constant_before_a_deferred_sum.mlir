// runs
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %none = sdy.constant dense<0.5> : tensor<8x8xf32>
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %total = %none) : tensor<i32>, tensor<16x8xf32>, tensor<8x8xf32>
  cond {
    %p = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y = stablehlo.negate %x : tensor<16x8xf32>
    %part = stablehlo.dot_general %y, %b, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %next = stablehlo.add %total, %part : tensor<8x8xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y, %next : tensor<i32>, tensor<16x8xf32>, tensor<8x8xf32>
  }
  return %r#2 : tensor<8x8xf32>
}
