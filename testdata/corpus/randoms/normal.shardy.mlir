module @jit_normal attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<2xui32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<8x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
    %0 = sdy.named_computation<"_normal">(%arg0) (%arg1: tensor<2xui32>) {
      %2 = sdy.data_flow_edge %arg1 : tensor<2xui32>
      %3 = sdy.named_computation<"_normal_real">(%2) (%arg2: tensor<2xui32>) {
        %5 = sdy.data_flow_edge %arg2 : tensor<2xui32>
        %6 = sdy.constant dense<-0.99999994> : tensor<f32>
        %7 = sdy.constant dense<1.000000e+00> : tensor<f32>
        %8 = sdy.named_computation<"_uniform">(%5, %6, %7) (%arg3: tensor<2xui32>, %arg4: tensor<f32>, %arg5: tensor<f32>) {
          %14 = sdy.data_flow_edge %arg3 : tensor<2xui32>
          %15 = sdy.data_flow_edge %arg4 : tensor<f32>
          %16 = sdy.data_flow_edge %arg5 : tensor<f32>
          %17 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
          %18 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
          %19 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
          %20 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<1x1xf32>
          %21 = stablehlo.slice %14 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
          %22 = stablehlo.reshape %21 : (tensor<1xui32>) -> tensor<ui32>
          %23 = stablehlo.slice %14 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
          %24 = stablehlo.reshape %23 : (tensor<1xui32>) -> tensor<ui32>
          %25 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %26 = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %27 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %28 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %29 = sdy.constant dense<16> : tensor<ui64>
          %30 = stablehlo.broadcast_in_dim %29, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui64>) -> tensor<8x16xui64>
          %31 = stablehlo.broadcast_in_dim %29, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui64>) -> tensor<8x16xui64>
          %32 = stablehlo.multiply %30, %25 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %33 = stablehlo.multiply %31, %26 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %34 = sdy.constant dense<1> : tensor<ui64>
          %35 = stablehlo.broadcast_in_dim %34, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui64>) -> tensor<8x16xui64>
          %36 = stablehlo.broadcast_in_dim %34, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui64>) -> tensor<8x16xui64>
          %37 = stablehlo.multiply %35, %27 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %38 = stablehlo.multiply %36, %28 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %39 = stablehlo.add %32, %37 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %40 = stablehlo.add %33, %38 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %41 = sdy.constant dense<32> : tensor<ui64>
          %42 = stablehlo.broadcast_in_dim %41, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui64>) -> tensor<8x16xui64>
          %43 = stablehlo.shift_right_logical %39, %42 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui64>
          %44 = stablehlo.convert %40 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xui64>) -> tensor<8x16xui32>
          %45 = stablehlo.convert %43 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xui64>) -> tensor<8x16xui32>
          %46:2 = sdy.named_computation<"threefry2x32">(%22, %24, %45, %44) (%arg6: tensor<ui32>, %arg7: tensor<ui32>, %arg8: tensor<8x16xui32>, %arg9: tensor<8x16xui32>) {
            %67 = sdy.data_flow_edge %arg6 : tensor<ui32>
            %68 = sdy.data_flow_edge %arg7 : tensor<ui32>
            %69 = sdy.data_flow_edge %arg8 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
            %70 = sdy.data_flow_edge %arg9 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
            %71 = sdy.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
            %72 = sdy.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
            %73 = stablehlo.xor %67, %68 : tensor<ui32>
            %74 = sdy.constant dense<466688986> : tensor<ui32>
            %75 = stablehlo.xor %73, %74 : tensor<ui32>
            %76 = stablehlo.broadcast_in_dim %67, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
            %77 = stablehlo.add %69, %76 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
            %78 = stablehlo.broadcast_in_dim %68, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
            %79 = stablehlo.add %70, %78 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
            %80 = sdy.constant dense<0> : tensor<i32>
            %81 = sdy.constant dense<0> : tensor<i32>
            %82:9 = stablehlo.while(%iterArg = %81, %iterArg_0 = %80, %iterArg_1 = %77, %iterArg_2 = %79, %iterArg_3 = %68, %iterArg_4 = %75, %iterArg_5 = %67, %iterArg_6 = %71, %iterArg_7 = %72) : tensor<i32>, tensor<i32>, tensor<8x16xui32>, tensor<8x16xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
            cond {
              %92 = sdy.constant dense<5> : tensor<i32>
              %93 = stablehlo.compare LT, %iterArg, %92, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %93 : tensor<i1>
            } do {
              %92:8 = sdy.named_computation<"closed_call">(%iterArg_0, %iterArg_1, %iterArg_2, %iterArg_3, %iterArg_4, %iterArg_5, %iterArg_6, %iterArg_7) (%arg10: tensor<i32>, %arg11: tensor<8x16xui32>, %arg12: tensor<8x16xui32>, %arg13: tensor<ui32>, %arg14: tensor<ui32>, %arg15: tensor<ui32>, %arg16: tensor<4xui32>, %arg17: tensor<4xui32>) {
                %103 = sdy.data_flow_edge %arg10 : tensor<i32>
                %104 = sdy.data_flow_edge %arg11 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
                %105 = sdy.data_flow_edge %arg12 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
                %106 = sdy.data_flow_edge %arg13 : tensor<ui32>
                %107 = sdy.data_flow_edge %arg14 : tensor<ui32>
                %108 = sdy.data_flow_edge %arg15 : tensor<ui32>
                %109 = sdy.data_flow_edge %arg16 : tensor<4xui32>
                %110 = sdy.data_flow_edge %arg17 : tensor<4xui32>
                %111 = sdy.constant dense<1> : tensor<i32>
                %112 = stablehlo.add %103, %111 : tensor<i32>
                %113 = stablehlo.slice %109 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
                %114 = stablehlo.reshape %113 : (tensor<1xui32>) -> tensor<ui32>
                %115 = stablehlo.add %104, %105 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %116 = stablehlo.broadcast_in_dim %114, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %117 = stablehlo.shift_left %105, %116 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %118 = sdy.constant dense<32> : tensor<ui32>
                %119 = stablehlo.subtract %118, %114 : tensor<ui32>
                %120 = stablehlo.broadcast_in_dim %119, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %121 = stablehlo.shift_right_logical %105, %120 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %122 = stablehlo.or %117, %121 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %123 = stablehlo.xor %115, %122 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %124 = stablehlo.slice %109 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
                %125 = stablehlo.reshape %124 : (tensor<1xui32>) -> tensor<ui32>
                %126 = stablehlo.add %115, %123 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %127 = stablehlo.broadcast_in_dim %125, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %128 = stablehlo.shift_left %123, %127 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %129 = sdy.constant dense<32> : tensor<ui32>
                %130 = stablehlo.subtract %129, %125 : tensor<ui32>
                %131 = stablehlo.broadcast_in_dim %130, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %132 = stablehlo.shift_right_logical %123, %131 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %133 = stablehlo.or %128, %132 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %134 = stablehlo.xor %126, %133 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %135 = stablehlo.slice %109 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
                %136 = stablehlo.reshape %135 : (tensor<1xui32>) -> tensor<ui32>
                %137 = stablehlo.add %126, %134 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %138 = stablehlo.broadcast_in_dim %136, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %139 = stablehlo.shift_left %134, %138 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %140 = sdy.constant dense<32> : tensor<ui32>
                %141 = stablehlo.subtract %140, %136 : tensor<ui32>
                %142 = stablehlo.broadcast_in_dim %141, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %143 = stablehlo.shift_right_logical %134, %142 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %144 = stablehlo.or %139, %143 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %145 = stablehlo.xor %137, %144 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %146 = stablehlo.slice %109 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
                %147 = stablehlo.reshape %146 : (tensor<1xui32>) -> tensor<ui32>
                %148 = stablehlo.add %137, %145 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %149 = stablehlo.broadcast_in_dim %147, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %150 = stablehlo.shift_left %145, %149 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %151 = sdy.constant dense<32> : tensor<ui32>
                %152 = stablehlo.subtract %151, %147 : tensor<ui32>
                %153 = stablehlo.broadcast_in_dim %152, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %154 = stablehlo.shift_right_logical %145, %153 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %155 = stablehlo.or %150, %154 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %156 = stablehlo.xor %148, %155 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %157 = stablehlo.broadcast_in_dim %106, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %158 = stablehlo.add %148, %157 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %159 = stablehlo.broadcast_in_dim %107, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %160 = stablehlo.add %156, %159 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                %161 = sdy.constant dense<1> : tensor<i32>
                %162 = stablehlo.add %103, %161 : tensor<i32>
                %163 = stablehlo.convert %162 : (tensor<i32>) -> tensor<ui32>
                %164 = stablehlo.broadcast_in_dim %163, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
                %165 = stablehlo.add %160, %164 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
                sdy.return %112, %158, %165, %107, %108, %106, %110, %109 : tensor<i32>, tensor<8x16xui32>, tensor<8x16xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
              } : (tensor<i32>, tensor<8x16xui32>, tensor<8x16xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<8x16xui32>, tensor<8x16xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
              %93 = sdy.data_flow_edge %92#0 : tensor<i32>
              %94 = sdy.data_flow_edge %92#1 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
              %95 = sdy.data_flow_edge %92#2 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
              %96 = sdy.data_flow_edge %92#3 : tensor<ui32>
              %97 = sdy.data_flow_edge %92#4 : tensor<ui32>
              %98 = sdy.data_flow_edge %92#5 : tensor<ui32>
              %99 = sdy.data_flow_edge %92#6 : tensor<4xui32>
              %100 = sdy.data_flow_edge %92#7 : tensor<4xui32>
              %101 = sdy.constant dense<1> : tensor<i32>
              %102 = stablehlo.add %iterArg, %101 : tensor<i32>
              stablehlo.return %102, %93, %94, %95, %96, %97, %98, %99, %100 : tensor<i32>, tensor<i32>, tensor<8x16xui32>, tensor<8x16xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
            }
            %83 = sdy.data_flow_edge %82#0 : tensor<i32>
            %84 = sdy.data_flow_edge %82#1 : tensor<i32>
            %85 = sdy.data_flow_edge %82#2 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
            %86 = sdy.data_flow_edge %82#3 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
            %87 = sdy.data_flow_edge %82#4 : tensor<ui32>
            %88 = sdy.data_flow_edge %82#5 : tensor<ui32>
            %89 = sdy.data_flow_edge %82#6 : tensor<ui32>
            %90 = sdy.data_flow_edge %82#7 : tensor<4xui32>
            %91 = sdy.data_flow_edge %82#8 : tensor<4xui32>
            sdy.return %85, %86 : tensor<8x16xui32>, tensor<8x16xui32>
          } : (tensor<ui32>, tensor<ui32>, tensor<8x16xui32>, tensor<8x16xui32>) -> (tensor<8x16xui32>, tensor<8x16xui32>)
          %47 = sdy.data_flow_edge %46#0 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
          %48 = sdy.data_flow_edge %46#1 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xui32>
          %49 = stablehlo.xor %47, %48 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %50 = sdy.constant dense<9> : tensor<ui32>
          %51 = stablehlo.broadcast_in_dim %50, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %52 = stablehlo.shift_right_logical %49, %51 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %53 = sdy.constant dense<1065353216> : tensor<ui32>
          %54 = stablehlo.broadcast_in_dim %53, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<ui32>) -> tensor<8x16xui32>
          %55 = stablehlo.or %52, %54 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xui32>
          %56 = stablehlo.bitcast_convert %55 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<8x16xui32>) -> tensor<8x16xf32>
          %57 = sdy.constant dense<1.000000e+00> : tensor<f32>
          %58 = stablehlo.broadcast_in_dim %57, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<f32>) -> tensor<8x16xf32>
          %59 = stablehlo.subtract %56, %58 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xf32>
          %60 = stablehlo.subtract %20, %17 : tensor<1x1xf32>
          %61 = stablehlo.broadcast_in_dim %60, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<1x1xf32>) -> tensor<8x16xf32>
          %62 = stablehlo.multiply %59, %61 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xf32>
          %63 = stablehlo.broadcast_in_dim %18, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<1x1xf32>) -> tensor<8x16xf32>
          %64 = stablehlo.add %62, %63 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xf32>
          %65 = stablehlo.broadcast_in_dim %19, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<1x1xf32>) -> tensor<8x16xf32>
          %66 = stablehlo.maximum %65, %64 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xf32>
          sdy.return %66 : tensor<8x16xf32>
        } : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<8x16xf32>
        %9 = sdy.data_flow_edge %8 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
        %10 = chlo.erf_inv %9 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xf32> -> tensor<8x16xf32>
        %11 = sdy.constant dense<1.41421354> : tensor<f32>
        %12 = stablehlo.broadcast_in_dim %11, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : (tensor<f32>) -> tensor<8x16xf32>
        %13 = stablehlo.multiply %12, %10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"X", ?}, {"Y", ?}]>]>} : tensor<8x16xf32>
        sdy.return %13 : tensor<8x16xf32>
      } : (tensor<2xui32>) -> tensor<8x16xf32>
      %4 = sdy.data_flow_edge %3 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
      sdy.return %4 : tensor<8x16xf32>
    } : (tensor<2xui32>) -> tensor<8x16xf32>
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"X", ?}, {"Y", ?}]> : tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
}
