// runs
// A started sum of two 16-bit operands, whose reducer works on 32 bits, is split into two.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x6xbf16>, %c: tensor<4x3xbf16>) -> (tensor<8x6xf32>, tensor<4x3xf32>) {
  %0:2 = sdy.manual_computation(%a, %c) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x6xbf16>, %d: tensor<1x3xbf16>) {
    %f = "stablehlo.async_start"(%b, %d) ({
    ^bb0(%u: tensor<2x6xbf16>, %v: tensor<1x3xbf16>):
      %g:2 = "stablehlo.all_reduce"(%u, %v) <{replica_groups = dense<[[0,2,4,6],[1,3,5,7]]> : tensor<2x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
 ^bb0(%x: tensor<f32>, %y: tensor<f32>):
 %w = stablehlo.add %x, %y : tensor<f32>
 stablehlo.return %w : tensor<f32>
 }) : (tensor<2x6xbf16>, tensor<1x3xbf16>) -> (tensor<2x6xf32>, tensor<1x3xf32>)
      stablehlo.return %g#0, %g#1 : tensor<2x6xf32>, tensor<1x3xf32>
    }) : (tensor<2x6xbf16>, tensor<1x3xbf16>) -> !stablehlo.future<tensor<2x6xf32>, tensor<1x3xf32>>
    %r:2 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2x6xf32>, tensor<1x3xf32>>) -> (tensor<2x6xf32>, tensor<1x3xf32>)
    sdy.return %r#0, %r#1 : tensor<2x6xf32>, tensor<1x3xf32>
  } : (tensor<8x6xbf16>, tensor<4x3xbf16>) -> (tensor<8x6xf32>, tensor<4x3xf32>)
  return %0#0, %0#1 : tensor<8x6xf32>, tensor<4x3xf32>
}
