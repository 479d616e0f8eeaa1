// A mesh of another number of devices is refused.
sdy.mesh @a = <["x"=2]>
sdy.mesh @b = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@b, [{"x"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// ---- expected
error[mesh-devices]: a layout is over a mesh of 4 devices, and the program runs on a mesh of 2
  --> test.mlir:4:80
   | here @b: x=4 (4 devices)
   | elsewhere @a: x=2 (2 devices), first used at test.mlir:4:17
   = help: give all meshes of the program the same number of devices, or split the program in two
