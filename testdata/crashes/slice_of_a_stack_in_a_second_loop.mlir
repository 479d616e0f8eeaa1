// runs
// Two loops read the same stack, which is split over its layers, the second backwards: it had summed a slice in each turn.
module {
  sdy.mesh @mesh = <["x"=8]>
  func.func @main(%w: tensor<8x32x32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %x: tensor<64x32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %seven = stablehlo.constant dense<7> : tensor<i32>
    %n = stablehlo.constant dense<8> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<64x32xi32>
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %s = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 32, 32] : (tensor<8x32x32xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x32xi32>
        %m = stablehlo.reshape %s : (tensor<1x32x32xi32>) -> tensor<32x32xi32>
        %d = stablehlo.dot_general %h, %m, contracting_dims = [1] x [0] : (tensor<64x32xi32>, tensor<32x32xi32>) -> tensor<64x32xi32>
        %t = stablehlo.negate %d : tensor<64x32xi32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %t : tensor<i32>, tensor<64x32xi32>
      }
    %q:2 = stablehlo.while(%i = %zero, %h = %r#1) : tensor<i32>, tensor<64x32xi32>
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %k = stablehlo.subtract %seven, %i : tensor<i32>
        %s = stablehlo.dynamic_slice %w, %k, %zero, %zero, sizes = [1, 32, 32] : (tensor<8x32x32xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x32xi32>
        %m = stablehlo.reshape %s : (tensor<1x32x32xi32>) -> tensor<32x32xi32>
        %d = stablehlo.dot_general %h, %m, contracting_dims = [1] x [1] : (tensor<64x32xi32>, tensor<32x32xi32>) -> tensor<64x32xi32>
        %t = stablehlo.negate %d : tensor<64x32xi32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %t : tensor<i32>, tensor<64x32xi32>
      }
    return %q#1 : tensor<64x32xi32>
  }
}
