// runs
// A reduction without elements lists the offsets of 10^11 rows of a dimension of size 0 behind it, without charging the memory.
func.func @main(%x: tensor<100000000000x0x2xi32>) -> tensor<0x2xi32> {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<100000000000x0x2xi32>, tensor<i32>) -> tensor<0x2xi32>
   reducer(%a: tensor<i32>, %b: tensor<i32>) {
    %m = stablehlo.xor %a, %b : tensor<i32>
    stablehlo.return %m : tensor<i32>
   }
  return %0 : tensor<0x2xi32>
}
