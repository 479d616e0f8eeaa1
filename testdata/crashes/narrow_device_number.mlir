// runs
// The number of a device is converted to i8 and wraps around to negative numbers from device 128 on, and so do remainder and quotient.
sdy.mesh @mesh = <["x"=256]>
func.func @main(%a: tensor<256xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<256xi32>{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<256xi32>{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<256xf32>{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0:3 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<1xi32>) {
    %p = stablehlo.partition_id : tensor<ui32>
    %n = stablehlo.convert %p : (tensor<ui32>) -> tensor<i8>
    %c = stablehlo.constant dense<4> : tensor<i8>
    %r = stablehlo.remainder %n, %c : tensor<i8>
    %r2 = stablehlo.convert %r : (tensor<i8>) -> tensor<i32>
    %r3 = stablehlo.reshape %r2 : (tensor<i32>) -> tensor<1xi32>
    %d = stablehlo.divide %n, %c : tensor<i8>
    %d2 = stablehlo.convert %d : (tensor<i8>) -> tensor<i32>
    %d3 = stablehlo.reshape %d2 : (tensor<i32>) -> tensor<1xi32>
    %f = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>
    %fc = stablehlo.constant dense<4.0> : tensor<f32>
    %fd = stablehlo.divide %f, %fc : tensor<f32>
    %f3 = stablehlo.reshape %fd : (tensor<f32>) -> tensor<1xf32>
    sdy.return %r3, %d3, %f3 : tensor<1xi32>, tensor<1xi32>, tensor<1xf32>
  } : (tensor<256xi32>) -> (tensor<256xi32>, tensor<256xi32>, tensor<256xf32>)
  return %0#0, %0#1, %0#2 : tensor<256xi32>, tensor<256xi32>, tensor<256xf32>
}
