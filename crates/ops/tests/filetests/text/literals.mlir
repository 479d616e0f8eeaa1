func.func @main() {
  %0 = stablehlo.constant dense<[[1, -2], [3, 0x7F]]> : tensor<2x2xi8>
  %1 = stablehlo.constant dense<255> : tensor<3xui8>
  %2 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %3 = stablehlo.constant dense<[-2, 1, 0]> : tensor<3xi2>
  %4 = stablehlo.constant dense<[15, 0]> : tensor<2xui4>
  %5 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %6 = stablehlo.constant dense<"0x05"> : tensor<3xi1>
  %7 = stablehlo.constant dense<[1.0, 0.1, -0.0, 3.14159274, 1.0e-45, 16777216.0]> : tensor<6xf32>
  %8 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000]> : tensor<4xf32>
  %9 = stablehlo.constant dense<[1.0e300, 0.1, 5.0e-324]> : tensor<3xf64>
  %10 = stablehlo.constant dense<[1.0, 3.14, 0x7F80]> : tensor<3xbf16>
  %11 = stablehlo.constant dense<[65504.0, 6.0e-8, 0x7E00]> : tensor<3xf16>
  %12 = stablehlo.constant dense<[448.0, -0.0, 0x7F, 0.002]> : tensor<4xf8E4M3FN>
  %13 = stablehlo.constant dense<[57344.0, 0x7C]> : tensor<2xf8E5M2>
  %14 = stablehlo.constant dense<[0.5, 4.0]> : tensor<2xf8E8M0FNU>
  %15 = stablehlo.constant dense<[6.0, -0.5]> : tensor<2xf4E2M1FN>
  %16 = stablehlo.constant dense<[(1.0, -2.0), (0x7FC00000, 0.0)]> : tensor<2xcomplex<f32>>
  %17 = stablehlo.constant dense<(0.1, 0.0)> : tensor<2xcomplex<f64>>
  %18 = stablehlo.constant dense<> : tensor<0x4xf32>
  %19 = stablehlo.constant dense<1> : tensor<0xi32>
  %20 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
  %21 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %22 = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  %23 = stablehlo.constant dense<"0x0000803F"> : tensor<1000000000000xf32>
  %24 = stablehlo.constant dense<[1, 1, 1]> : tensor<3xi32>
  %25 = "stablehlo.constant"() <{value = dense<7> : tensor<i32>}> : () -> tensor<i32>
  %26 = stablehlo.constant() <{value = dense<7> : tensor<i32>}> : () -> tensor<i32>
  %27 = stablehlo.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F6061626364656667"> : tensor<104xui8>
  return
}
// ---- expected
module {
  func.func public @main() {
    %0 = stablehlo.constant dense<[[1, -2], [3, 127]]> : tensor<2x2xi8>
    %1 = stablehlo.constant dense<255> : tensor<3xui8>
    %2 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    %3 = stablehlo.constant dense<[-2, 1, 0]> : tensor<3xi2>
    %4 = stablehlo.constant dense<[15, 0]> : tensor<2xui4>
    %5 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %6 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %7 = stablehlo.constant dense<[1.000000e+00, 1.000000e-01, -0.000000e+00, 3.1415927, 1.401298e-45, 16777216.0]> : tensor<6xf32>
    %8 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 1.000000e+00]> : tensor<4xf32>
    %9 = stablehlo.constant dense<[1.000000e+300, 1.000000e-01, 4.940656e-324]> : tensor<3xf64>
    %10 = stablehlo.constant dense<[1.000000e+00, 3.140625e+00, 0x7F80]> : tensor<3xbf16>
    %11 = stablehlo.constant dense<[6.550400e+04, 5.960464e-08, 0x7E00]> : tensor<3xf16>
    %12 = stablehlo.constant dense<[4.480000e+02, -0.000000e+00, 0x7F, 1.953125e-03]> : tensor<4xf8E4M3FN>
    %13 = stablehlo.constant dense<[5.734400e+04, 0x7C]> : tensor<2xf8E5M2>
    %14 = stablehlo.constant dense<[5.000000e-01, 4.000000e+00]> : tensor<2xf8E8M0FNU>
    %15 = stablehlo.constant dense<[6.000000e+00, -5.000000e-01]> : tensor<2xf4E2M1FN>
    %16 = stablehlo.constant dense<[(1.000000e+00, -2.000000e+00), (0x7FC00000, 0.000000e+00)]> : tensor<2xcomplex<f32>>
    %17 = stablehlo.constant dense<(1.000000e-01, 0.000000e+00)> : tensor<2xcomplex<f64>>
    %18 = stablehlo.constant dense<> : tensor<0x4xf32>
    %19 = stablehlo.constant dense<> : tensor<0xi32>
    %20 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
    %21 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
    %22 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    %23 = stablehlo.constant dense<1.000000e+00> : tensor<1000000000000xf32>
    %24 = stablehlo.constant dense<1> : tensor<3xi32>
    %25 = stablehlo.constant dense<7> : tensor<i32>
    %26 = stablehlo.constant dense<7> : tensor<i32>
    %27 = stablehlo.constant dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F6061626364656667"> : tensor<104xui8>
    return
  }
}
