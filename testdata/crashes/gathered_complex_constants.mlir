sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func public @main(%arg0: tensor<8x7xcomplex<f64>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<6x8x8xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}, {}]>}, %arg2: tensor<0xui8> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg3: tensor<3x4xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x", ?}]>}) -> (tensor<16xcomplex<f64>>) {
  %v23 = stablehlo.constant dense<[[-3, -4, -4, 3, -3]]> : tensor<1x5xi32>
  %v24 = sdy.sharding_constraint %v23 <@mesh, [{}, {"x", "y"}]> : tensor<1x5xi32>
  %v25 = "stablehlo.slice"(%v24) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 1, 5>, strides = array<i64: 1, 2>}> : (tensor<1x5xi32>) -> (tensor<1x2xi32>)
  %v26 = sdy.sharding_constraint %v25 <@mesh, [{}, {"x", "y"}]> : tensor<1x2xi32>
  %v27 = stablehlo.constant dense<0> : tensor<ui8>
  %v28 = stablehlo.constant dense<4> : tensor<ui8>
  %v29 = stablehlo.clamp %v27, %arg2, %v28 : (tensor<ui8>, tensor<0xui8>, tensor<ui8>) -> tensor<0xui8>
  %v30 = stablehlo.convert %v29 : (tensor<0xui8>) -> tensor<0xf64>
  %v31 = stablehlo.complex %v30, %v30 : tensor<0xcomplex<f64>>
  %v32 = stablehlo.constant dense<(0.00000000000000000e0, 0.00000000000000000e0)> : tensor<complex<f64>>
  %v33 = stablehlo.pad %v31, %v32, low = [0], high = [2], interior = [0] : (tensor<0xcomplex<f64>>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
  %v34 = "stablehlo.fft"(%v33) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 2>}> : (tensor<2xcomplex<f64>>) -> (tensor<2xf64>)
  %v35 = "stablehlo.real"(%arg3) : (tensor<3x4xcomplex<f32>>) -> (tensor<3x4xf32>)
  %v36 = stablehlo.real %v31 : (tensor<0xcomplex<f64>>) -> tensor<0xf64>
  %v37 = stablehlo.convert %v36 : (tensor<0xf64>) -> tensor<0xi32>
  %v38 = sdy.constant dense<0> : tensor<i32>
  %v39 = stablehlo.pad %v37, %v38, low = [0], high = [9], interior = [0] : (tensor<0xi32>, tensor<i32>) -> tensor<9xi32>
  %v40 = sdy.sharding_constraint %v39 <@mesh, [{"y", "x"}]> : tensor<9xi32>
  %v41 = stablehlo.iota dim = 0 : tensor<9xi32>
  %v42 = stablehlo.constant dense<-4> : tensor<i32>
  %v43 = sdy.constant dense<0> : tensor<i32>
  %v44:2 = "stablehlo.reduce"(%v40, %v41, %v42, %v43) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>, %i: tensor<i32>, %b: tensor<i32>, %j: tensor<i32>):
    %c = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %d = stablehlo.select %c, %a, %b : tensor<i1>, tensor<i32>
    %k = stablehlo.select %c, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %d, %k : tensor<i32>, tensor<i32>
  }) : (tensor<9xi32>, tensor<9xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  %v49 = sdy.manual_computation(%v32, %v33) in_shardings=[<@mesh, []>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%v45: tensor<complex<f64>>, %v46: tensor<1xcomplex<f64>>) {
  %v47 = stablehlo.reshape %v45 : (tensor<complex<f64>>) -> tensor<1xcomplex<f64>>
  %v48 = "stablehlo.all_gather"(%v47) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1xcomplex<f64>>) -> (tensor<4xcomplex<f64>>)
    sdy.return %v48 : tensor<4xcomplex<f64>>
  } : (tensor<complex<f64>>, tensor<2xcomplex<f64>>) -> tensor<16xcomplex<f64>>
  return %v49 : tensor<16xcomplex<f64>>
}
func.func private @f0(%v1: tensor<0x1x2xf6E3M2FN>) -> (tensor<i32>) {
  %v2 = stablehlo.constant dense<3> : tensor<i32>
  %v3 = stablehlo.constant dense<0> : tensor<i32>
  %v4 = stablehlo.constant dense<5> : tensor<i32>
  %v5 = stablehlo.clamp %v3, %v2, %v4 : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
  %v6 = "stablehlo.power"(%v2, %v5) : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
  %v7 = stablehlo.convert %v4 : (tensor<i32>) -> tensor<i16>
  %v8 = stablehlo.broadcast_in_dim %v7, dims = [] : (tensor<i16>) -> tensor<3xi16>
  %v9 = "stablehlo.shift_left"(%v8, %v8) : (tensor<3xi16>, tensor<3xi16>) -> (tensor<3xi16>)
    return %v6 : tensor<i32>
}
func.func private @f1(%v10: tensor<complex<f64>>, %v11: tensor<i8>) -> (tensor<complex<f64>>) {
  %v12 = "stablehlo.multiply"(%v10, %v10) : (tensor<complex<f64>>, tensor<complex<f64>>) -> (tensor<complex<f64>>)
  %v13 = stablehlo.real %v12 : (tensor<complex<f64>>) -> tensor<f64>
  %v14 = sdy.constant dense<0.00000000000000000e0> : tensor<f64>
  %v15 = stablehlo.compare GT, %v13, %v14 : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %v16 = stablehlo.convert %v15 : (tensor<i1>) -> tensor<f64>
  %v17 = stablehlo.constant dense<0.00000000000000000e0> : tensor<f64>
  %v18 = sdy.constant dense<4.00000000000000000e0> : tensor<f64>
  %v19 = stablehlo.clamp %v17, %v16, %v18 : (tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>
  %v20 = stablehlo.convert %v19 : (tensor<f64>) -> tensor<ui32>
  %v21 = stablehlo.broadcast_in_dim %v20, dims = [] : (tensor<ui32>) -> tensor<3x4x4xui32>
  %v22 = "stablehlo.count_leading_zeros"(%v21) : (tensor<3x4x4xui32>) -> (tensor<3x4x4xui32>)
    return %v12 : tensor<complex<f64>>
}


