// runs
// Regions of reduce, map and sort use an unreduced value from outside without summing it first, with [dense<[2.,1.]> : tensor<2xf32>, dense<[1.,2.,3.,4.,5.,6.,7.,8.]> : tensor<8xf32>].
sdy.mesh @m = <["x"=2]>
func.func @main(%a: tensor<2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}]>}) -> (tensor<f32>, tensor<8xf32>, tensor<8xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@m, [], unreduced={"x"}>]>} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %0 = "stablehlo.reduce"(%b, %z) ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %q = stablehlo.maximum %x, %y : tensor<f32>
     %w = stablehlo.minimum %q, %s : tensor<f32>
     stablehlo.return %w : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %1 = "stablehlo.map"(%b) ({
   ^bb0(%x: tensor<f32>):
     %q = stablehlo.add %x, %s : tensor<f32>
     stablehlo.return %q : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = "stablehlo.sort"(%b) <{dimension = 0 : i64}> ({
   ^bb0(%x: tensor<f32>, %y: tensor<f32>):
     %xs = stablehlo.subtract %x, %s : tensor<f32>
     %ys = stablehlo.subtract %y, %s : tensor<f32>
     %xx = stablehlo.abs %xs : tensor<f32>
     %yy = stablehlo.abs %ys : tensor<f32>
     %q = stablehlo.compare LT, %xx, %yy, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
     stablehlo.return %q : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<f32>, tensor<8xf32>, tensor<8xf32>
}
