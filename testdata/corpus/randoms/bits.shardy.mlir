module @jit_bits attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<2xui32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<8x16xui32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
    %0 = stablehlo.slice %arg0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %1 = stablehlo.reshape %0 : (tensor<1xui32>) -> tensor<ui32>
    %2 = stablehlo.slice %arg0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %3 = stablehlo.reshape %2 : (tensor<1xui32>) -> tensor<ui32>
    %4 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %5 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %6 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %7 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %8 = sdy.constant dense<16> : tensor<ui64>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui64>) -> tensor<8x16xui64>
    %10 = stablehlo.broadcast_in_dim %8, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui64>) -> tensor<8x16xui64>
    %11 = stablehlo.multiply %9, %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %12 = stablehlo.multiply %10, %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %13 = sdy.constant dense<1> : tensor<ui64>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui64>) -> tensor<8x16xui64>
    %15 = stablehlo.broadcast_in_dim %13, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui64>) -> tensor<8x16xui64>
    %16 = stablehlo.multiply %14, %6 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %17 = stablehlo.multiply %15, %7 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %18 = stablehlo.add %11, %16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %19 = stablehlo.add %12, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %20 = sdy.constant dense<32> : tensor<ui64>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui64>) -> tensor<8x16xui64>
    %22 = stablehlo.shift_right_logical %18, %21 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
    %23 = stablehlo.convert %19 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xui64>) -> tensor<8x16xui32>
    %24 = stablehlo.convert %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xui64>) -> tensor<8x16xui32>
    %25:2 = sdy.named_computation<"threefry2x32">(%1, %3, %24, %23) (%arg1: tensor<ui32>, %arg2: tensor<ui32>, %arg3: tensor<8x16xui32>, %arg4: tensor<8x16xui32>) {
      %29 = sdy.data_flow_edge %arg1 : tensor<ui32>
      %30 = sdy.data_flow_edge %arg2 : tensor<ui32>
      %31 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
      %32 = sdy.data_flow_edge %arg4 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
      %33 = sdy.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
      %34 = sdy.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
      %35 = stablehlo.xor %29, %30 : tensor<ui32>
      %36 = sdy.constant dense<466688986> : tensor<ui32>
      %37 = stablehlo.xor %35, %36 : tensor<ui32>
      %38 = stablehlo.broadcast_in_dim %29, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
      %39 = stablehlo.add %31, %38 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
      %40 = stablehlo.broadcast_in_dim %30, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
      %41 = stablehlo.add %32, %40 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
      %42 = sdy.constant dense<0> : tensor<i32>
      %43 = sdy.constant dense<0> : tensor<i32>
      %44:9 = stablehlo.while(%iterArg = %43, %iterArg_0 = %42, %iterArg_1 = %39, %iterArg_2 = %41, %iterArg_3 = %30, %iterArg_4 = %37, %iterArg_5 = %29, %iterArg_6 = %33, %iterArg_7 = %34) : tensor<i32>, tensor<i32>, tensor<8x16xui32>, tensor<8x16xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
      cond {
        %54 = sdy.constant dense<5> : tensor<i32>
        %55 = stablehlo.compare LT, %iterArg, %54, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %55 : tensor<i1>
      } do {
        %54:8 = sdy.named_computation<"closed_call">(%iterArg_0, %iterArg_1, %iterArg_2, %iterArg_3, %iterArg_4, %iterArg_5, %iterArg_6, %iterArg_7) (%arg5: tensor<i32>, %arg6: tensor<8x16xui32>, %arg7: tensor<8x16xui32>, %arg8: tensor<ui32>, %arg9: tensor<ui32>, %arg10: tensor<ui32>, %arg11: tensor<4xui32>, %arg12: tensor<4xui32>) {
          %65 = sdy.data_flow_edge %arg5 : tensor<i32>
          %66 = sdy.data_flow_edge %arg6 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
          %67 = sdy.data_flow_edge %arg7 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
          %68 = sdy.data_flow_edge %arg8 : tensor<ui32>
          %69 = sdy.data_flow_edge %arg9 : tensor<ui32>
          %70 = sdy.data_flow_edge %arg10 : tensor<ui32>
          %71 = sdy.data_flow_edge %arg11 : tensor<4xui32>
          %72 = sdy.data_flow_edge %arg12 : tensor<4xui32>
          %73 = sdy.constant dense<1> : tensor<i32>
          %74 = stablehlo.add %65, %73 : tensor<i32>
          %75 = stablehlo.slice %71 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
          %76 = stablehlo.reshape %75 : (tensor<1xui32>) -> tensor<ui32>
          %77 = stablehlo.add %66, %67 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %78 = stablehlo.broadcast_in_dim %76, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %79 = stablehlo.shift_left %67, %78 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %80 = sdy.constant dense<32> : tensor<ui32>
          %81 = stablehlo.subtract %80, %76 : tensor<ui32>
          %82 = stablehlo.broadcast_in_dim %81, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %83 = stablehlo.shift_right_logical %67, %82 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %84 = stablehlo.or %79, %83 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %85 = stablehlo.xor %77, %84 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %86 = stablehlo.slice %71 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
          %87 = stablehlo.reshape %86 : (tensor<1xui32>) -> tensor<ui32>
          %88 = stablehlo.add %77, %85 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %89 = stablehlo.broadcast_in_dim %87, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %90 = stablehlo.shift_left %85, %89 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %91 = sdy.constant dense<32> : tensor<ui32>
          %92 = stablehlo.subtract %91, %87 : tensor<ui32>
          %93 = stablehlo.broadcast_in_dim %92, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %94 = stablehlo.shift_right_logical %85, %93 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %95 = stablehlo.or %90, %94 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %96 = stablehlo.xor %88, %95 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %97 = stablehlo.slice %71 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
          %98 = stablehlo.reshape %97 : (tensor<1xui32>) -> tensor<ui32>
          %99 = stablehlo.add %88, %96 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %100 = stablehlo.broadcast_in_dim %98, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %101 = stablehlo.shift_left %96, %100 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %102 = sdy.constant dense<32> : tensor<ui32>
          %103 = stablehlo.subtract %102, %98 : tensor<ui32>
          %104 = stablehlo.broadcast_in_dim %103, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %105 = stablehlo.shift_right_logical %96, %104 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %106 = stablehlo.or %101, %105 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %107 = stablehlo.xor %99, %106 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %108 = stablehlo.slice %71 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
          %109 = stablehlo.reshape %108 : (tensor<1xui32>) -> tensor<ui32>
          %110 = stablehlo.add %99, %107 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %111 = stablehlo.broadcast_in_dim %109, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %112 = stablehlo.shift_left %107, %111 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %113 = sdy.constant dense<32> : tensor<ui32>
          %114 = stablehlo.subtract %113, %109 : tensor<ui32>
          %115 = stablehlo.broadcast_in_dim %114, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %116 = stablehlo.shift_right_logical %107, %115 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %117 = stablehlo.or %112, %116 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %118 = stablehlo.xor %110, %117 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %119 = stablehlo.broadcast_in_dim %68, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %120 = stablehlo.add %110, %119 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %121 = stablehlo.broadcast_in_dim %69, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %122 = stablehlo.add %118, %121 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %123 = sdy.constant dense<1> : tensor<i32>
          %124 = stablehlo.add %65, %123 : tensor<i32>
          %125 = stablehlo.convert %124 : (tensor<i32>) -> tensor<ui32>
          %126 = stablehlo.broadcast_in_dim %125, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %127 = stablehlo.add %122, %126 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          sdy.return %74, %120, %127, %69, %70, %68, %72, %71 : tensor<i32>, tensor<8x16xui32>, tensor<8x16xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
        } : (tensor<i32>, tensor<8x16xui32>, tensor<8x16xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<8x16xui32>, tensor<8x16xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
        %55 = sdy.data_flow_edge %54#0 : tensor<i32>
        %56 = sdy.data_flow_edge %54#1 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
        %57 = sdy.data_flow_edge %54#2 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
        %58 = sdy.data_flow_edge %54#3 : tensor<ui32>
        %59 = sdy.data_flow_edge %54#4 : tensor<ui32>
        %60 = sdy.data_flow_edge %54#5 : tensor<ui32>
        %61 = sdy.data_flow_edge %54#6 : tensor<4xui32>
        %62 = sdy.data_flow_edge %54#7 : tensor<4xui32>
        %63 = sdy.constant dense<1> : tensor<i32>
        %64 = stablehlo.add %iterArg, %63 : tensor<i32>
        stablehlo.return %64, %55, %56, %57, %58, %59, %60, %61, %62 : tensor<i32>, tensor<i32>, tensor<8x16xui32>, tensor<8x16xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
      }
      %45 = sdy.data_flow_edge %44#0 : tensor<i32>
      %46 = sdy.data_flow_edge %44#1 : tensor<i32>
      %47 = sdy.data_flow_edge %44#2 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
      %48 = sdy.data_flow_edge %44#3 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
      %49 = sdy.data_flow_edge %44#4 : tensor<ui32>
      %50 = sdy.data_flow_edge %44#5 : tensor<ui32>
      %51 = sdy.data_flow_edge %44#6 : tensor<ui32>
      %52 = sdy.data_flow_edge %44#7 : tensor<4xui32>
      %53 = sdy.data_flow_edge %44#8 : tensor<4xui32>
      sdy.return %47, %48 : tensor<8x16xui32>, tensor<8x16xui32>
    } : (tensor<ui32>, tensor<ui32>, tensor<8x16xui32>, tensor<8x16xui32>) -> (tensor<8x16xui32>, tensor<8x16xui32>)
    %26 = sdy.data_flow_edge %25#0 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
    %27 = sdy.data_flow_edge %25#1 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
    %28 = stablehlo.xor %26, %27 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
    return %28 : tensor<8x16xui32>
  }
}
