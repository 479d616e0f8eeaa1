module @jit_collective_matmul attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=2, "Y"=4]> {stablehlo.mesh = {axes = [{name = "X", size = 2 : i64}, {name = "Y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<16x32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, %arg1: tensor<32x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}) -> (tensor<16x64xi32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"X", ?}, {"Y", ?}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"X"}, {"Y"}]>, <@mesh, [{}, {"Y"}], replicated={"X"}>] out_shardings=[<@mesh, [{"X"}, {"Y"}]>] manual_axes={"X", "Y"} (%arg2: tensor<8x8xi32>, %arg3: tensor<32x16xi32>) {
      %2 = sdy.data_flow_edge %arg2 sharding=<@mesh, [{}, {}]> : tensor<8x8xi32>
      %3 = sdy.data_flow_edge %arg3 sharding=<@mesh, [{}, {}]> : tensor<32x16xi32>
      %4 = sdy.constant dense<1> : tensor<ui32>
      %5 = sdy.constant dense<4> : tensor<ui32>
      %6 = stablehlo.partition_id : tensor<ui32>
      %7 = stablehlo.divide %6, %4 : tensor<ui32>
      %8 = stablehlo.remainder %7, %5 : tensor<ui32>
      %9 = stablehlo.convert %8 : (tensor<ui32>) -> tensor<i32>
      %10 = sdy.constant dense<0> : tensor<i32>
      %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<i32>) -> tensor<8x16xi32>
      %12 = sdy.constant dense<0> : tensor<i32>
      %13:3 = sdy.named_computation<"closed_call">(%9, %3, %12, %11, %2) (%arg4: tensor<i32>, %arg5: tensor<32x16xi32>, %arg6: tensor<i32>, %arg7: tensor<8x16xi32>, %arg8: tensor<8x8xi32>) {
        %41 = sdy.data_flow_edge %arg4 : tensor<i32>
        %42 = sdy.data_flow_edge %arg5 : tensor<32x16xi32>
        %43 = sdy.data_flow_edge %arg6 : tensor<i32>
        %44 = sdy.data_flow_edge %arg7 : tensor<8x16xi32>
        %45 = sdy.data_flow_edge %arg8 : tensor<8x8xi32>
        %46 = sdy.constant dense<1> : tensor<i32>
        %47 = stablehlo.add %43, %46 : tensor<i32>
        %48 = "stablehlo.collective_permute"(%45) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2], [4, 7], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<8x8xi32>) -> tensor<8x8xi32>
        %49 = stablehlo.convert %43 : tensor<i32>
        %50 = stablehlo.add %41, %49 : tensor<i32>
        %51 = sdy.constant dense<4> : tensor<i32>
        %52 = sdy.named_computation<"remainder">(%50, %51) (%arg9: tensor<i32>, %arg10: tensor<i32>) {
          %65 = sdy.data_flow_edge %arg9 : tensor<i32>
          %66 = sdy.data_flow_edge %arg10 : tensor<i32>
          %67 = stablehlo.convert %66 : tensor<i32>
          %68 = sdy.constant dense<0> : tensor<i32>
          %69 = stablehlo.compare EQ, %67, %68, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %70 = sdy.constant dense<1> : tensor<i32>
          %71 = sdy.named_computation<"_where">(%69, %70, %67) (%arg11: tensor<i1>, %arg12: tensor<i32>, %arg13: tensor<i32>) {
            %84 = sdy.data_flow_edge %arg11 : tensor<i1>
            %85 = sdy.data_flow_edge %arg12 : tensor<i32>
            %86 = sdy.data_flow_edge %arg13 : tensor<i32>
            %87 = stablehlo.select %84, %85, %86 : tensor<i1>, tensor<i32>
            sdy.return %87 : tensor<i32>
          } : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
          %72 = sdy.data_flow_edge %71 : tensor<i32>
          %73 = stablehlo.remainder %65, %72 : tensor<i32>
          %74 = sdy.constant dense<0> : tensor<i32>
          %75 = stablehlo.compare NE, %73, %74, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %76 = sdy.constant dense<0> : tensor<i32>
          %77 = stablehlo.compare LT, %73, %76, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %78 = sdy.constant dense<0> : tensor<i32>
          %79 = stablehlo.compare LT, %72, %78, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %80 = stablehlo.compare NE, %77, %79, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
          %81 = stablehlo.and %80, %75 : tensor<i1>
          %82 = stablehlo.add %73, %72 : tensor<i32>
          %83 = stablehlo.select %81, %82, %73 : tensor<i1>, tensor<i32>
          sdy.return %83 : tensor<i32>
        } : (tensor<i32>, tensor<i32>) -> tensor<i32>
        %53 = sdy.data_flow_edge %52 : tensor<i32>
        %54 = sdy.constant dense<8> : tensor<i32>
        %55 = stablehlo.multiply %53, %54 : tensor<i32>
        %56 = sdy.constant dense<0> : tensor<i32>
        %57 = stablehlo.compare LT, %55, %56, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %58 = sdy.constant dense<32> : tensor<i32>
        %59 = stablehlo.add %55, %58 : tensor<i32>
        %60 = stablehlo.select %57, %59, %55 : tensor<i1>, tensor<i32>
        %61 = sdy.constant dense<0> : tensor<i32>
        %62 = stablehlo.dynamic_slice %42, %60, %61, sizes = [8, 16] : (tensor<32x16xi32>, tensor<i32>, tensor<i32>) -> tensor<8x16xi32>
        %63 = stablehlo.dot_general %45, %62, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
        %64 = stablehlo.add %44, %63 : tensor<8x16xi32>
        sdy.return %47, %64, %48 : tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>
      } : (tensor<i32>, tensor<32x16xi32>, tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>)
      %14 = sdy.data_flow_edge %13#0 : tensor<i32>
      %15 = sdy.data_flow_edge %13#1 : tensor<8x16xi32>
      %16 = sdy.data_flow_edge %13#2 : tensor<8x8xi32>
      %17:3 = sdy.named_computation<"closed_call">(%9, %3, %14, %15, %16) (%arg4: tensor<i32>, %arg5: tensor<32x16xi32>, %arg6: tensor<i32>, %arg7: tensor<8x16xi32>, %arg8: tensor<8x8xi32>) {
        %41 = sdy.data_flow_edge %arg4 : tensor<i32>
        %42 = sdy.data_flow_edge %arg5 : tensor<32x16xi32>
        %43 = sdy.data_flow_edge %arg6 : tensor<i32>
        %44 = sdy.data_flow_edge %arg7 : tensor<8x16xi32>
        %45 = sdy.data_flow_edge %arg8 : tensor<8x8xi32>
        %46 = sdy.constant dense<1> : tensor<i32>
        %47 = stablehlo.add %43, %46 : tensor<i32>
        %48 = "stablehlo.collective_permute"(%45) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2], [4, 7], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<8x8xi32>) -> tensor<8x8xi32>
        %49 = stablehlo.convert %43 : tensor<i32>
        %50 = stablehlo.add %41, %49 : tensor<i32>
        %51 = sdy.constant dense<4> : tensor<i32>
        %52 = sdy.named_computation<"remainder">(%50, %51) (%arg9: tensor<i32>, %arg10: tensor<i32>) {
          %65 = sdy.data_flow_edge %arg9 : tensor<i32>
          %66 = sdy.data_flow_edge %arg10 : tensor<i32>
          %67 = stablehlo.convert %66 : tensor<i32>
          %68 = sdy.constant dense<0> : tensor<i32>
          %69 = stablehlo.compare EQ, %67, %68, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %70 = sdy.constant dense<1> : tensor<i32>
          %71 = sdy.named_computation<"_where">(%69, %70, %67) (%arg11: tensor<i1>, %arg12: tensor<i32>, %arg13: tensor<i32>) {
            %84 = sdy.data_flow_edge %arg11 : tensor<i1>
            %85 = sdy.data_flow_edge %arg12 : tensor<i32>
            %86 = sdy.data_flow_edge %arg13 : tensor<i32>
            %87 = stablehlo.select %84, %85, %86 : tensor<i1>, tensor<i32>
            sdy.return %87 : tensor<i32>
          } : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
          %72 = sdy.data_flow_edge %71 : tensor<i32>
          %73 = stablehlo.remainder %65, %72 : tensor<i32>
          %74 = sdy.constant dense<0> : tensor<i32>
          %75 = stablehlo.compare NE, %73, %74, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %76 = sdy.constant dense<0> : tensor<i32>
          %77 = stablehlo.compare LT, %73, %76, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %78 = sdy.constant dense<0> : tensor<i32>
          %79 = stablehlo.compare LT, %72, %78, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %80 = stablehlo.compare NE, %77, %79, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
          %81 = stablehlo.and %80, %75 : tensor<i1>
          %82 = stablehlo.add %73, %72 : tensor<i32>
          %83 = stablehlo.select %81, %82, %73 : tensor<i1>, tensor<i32>
          sdy.return %83 : tensor<i32>
        } : (tensor<i32>, tensor<i32>) -> tensor<i32>
        %53 = sdy.data_flow_edge %52 : tensor<i32>
        %54 = sdy.constant dense<8> : tensor<i32>
        %55 = stablehlo.multiply %53, %54 : tensor<i32>
        %56 = sdy.constant dense<0> : tensor<i32>
        %57 = stablehlo.compare LT, %55, %56, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %58 = sdy.constant dense<32> : tensor<i32>
        %59 = stablehlo.add %55, %58 : tensor<i32>
        %60 = stablehlo.select %57, %59, %55 : tensor<i1>, tensor<i32>
        %61 = sdy.constant dense<0> : tensor<i32>
        %62 = stablehlo.dynamic_slice %42, %60, %61, sizes = [8, 16] : (tensor<32x16xi32>, tensor<i32>, tensor<i32>) -> tensor<8x16xi32>
        %63 = stablehlo.dot_general %45, %62, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
        %64 = stablehlo.add %44, %63 : tensor<8x16xi32>
        sdy.return %47, %64, %48 : tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>
      } : (tensor<i32>, tensor<32x16xi32>, tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>)
      %18 = sdy.data_flow_edge %17#0 : tensor<i32>
      %19 = sdy.data_flow_edge %17#1 : tensor<8x16xi32>
      %20 = sdy.data_flow_edge %17#2 : tensor<8x8xi32>
      %21:3 = sdy.named_computation<"closed_call">(%9, %3, %18, %19, %20) (%arg4: tensor<i32>, %arg5: tensor<32x16xi32>, %arg6: tensor<i32>, %arg7: tensor<8x16xi32>, %arg8: tensor<8x8xi32>) {
        %41 = sdy.data_flow_edge %arg4 : tensor<i32>
        %42 = sdy.data_flow_edge %arg5 : tensor<32x16xi32>
        %43 = sdy.data_flow_edge %arg6 : tensor<i32>
        %44 = sdy.data_flow_edge %arg7 : tensor<8x16xi32>
        %45 = sdy.data_flow_edge %arg8 : tensor<8x8xi32>
        %46 = sdy.constant dense<1> : tensor<i32>
        %47 = stablehlo.add %43, %46 : tensor<i32>
        %48 = "stablehlo.collective_permute"(%45) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2], [4, 7], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<8x8xi32>) -> tensor<8x8xi32>
        %49 = stablehlo.convert %43 : tensor<i32>
        %50 = stablehlo.add %41, %49 : tensor<i32>
        %51 = sdy.constant dense<4> : tensor<i32>
        %52 = sdy.named_computation<"remainder">(%50, %51) (%arg9: tensor<i32>, %arg10: tensor<i32>) {
          %65 = sdy.data_flow_edge %arg9 : tensor<i32>
          %66 = sdy.data_flow_edge %arg10 : tensor<i32>
          %67 = stablehlo.convert %66 : tensor<i32>
          %68 = sdy.constant dense<0> : tensor<i32>
          %69 = stablehlo.compare EQ, %67, %68, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %70 = sdy.constant dense<1> : tensor<i32>
          %71 = sdy.named_computation<"_where">(%69, %70, %67) (%arg11: tensor<i1>, %arg12: tensor<i32>, %arg13: tensor<i32>) {
            %84 = sdy.data_flow_edge %arg11 : tensor<i1>
            %85 = sdy.data_flow_edge %arg12 : tensor<i32>
            %86 = sdy.data_flow_edge %arg13 : tensor<i32>
            %87 = stablehlo.select %84, %85, %86 : tensor<i1>, tensor<i32>
            sdy.return %87 : tensor<i32>
          } : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
          %72 = sdy.data_flow_edge %71 : tensor<i32>
          %73 = stablehlo.remainder %65, %72 : tensor<i32>
          %74 = sdy.constant dense<0> : tensor<i32>
          %75 = stablehlo.compare NE, %73, %74, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %76 = sdy.constant dense<0> : tensor<i32>
          %77 = stablehlo.compare LT, %73, %76, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %78 = sdy.constant dense<0> : tensor<i32>
          %79 = stablehlo.compare LT, %72, %78, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %80 = stablehlo.compare NE, %77, %79, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
          %81 = stablehlo.and %80, %75 : tensor<i1>
          %82 = stablehlo.add %73, %72 : tensor<i32>
          %83 = stablehlo.select %81, %82, %73 : tensor<i1>, tensor<i32>
          sdy.return %83 : tensor<i32>
        } : (tensor<i32>, tensor<i32>) -> tensor<i32>
        %53 = sdy.data_flow_edge %52 : tensor<i32>
        %54 = sdy.constant dense<8> : tensor<i32>
        %55 = stablehlo.multiply %53, %54 : tensor<i32>
        %56 = sdy.constant dense<0> : tensor<i32>
        %57 = stablehlo.compare LT, %55, %56, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %58 = sdy.constant dense<32> : tensor<i32>
        %59 = stablehlo.add %55, %58 : tensor<i32>
        %60 = stablehlo.select %57, %59, %55 : tensor<i1>, tensor<i32>
        %61 = sdy.constant dense<0> : tensor<i32>
        %62 = stablehlo.dynamic_slice %42, %60, %61, sizes = [8, 16] : (tensor<32x16xi32>, tensor<i32>, tensor<i32>) -> tensor<8x16xi32>
        %63 = stablehlo.dot_general %45, %62, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
        %64 = stablehlo.add %44, %63 : tensor<8x16xi32>
        sdy.return %47, %64, %48 : tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>
      } : (tensor<i32>, tensor<32x16xi32>, tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>) -> (tensor<i32>, tensor<8x16xi32>, tensor<8x8xi32>)
      %22 = sdy.data_flow_edge %21#0 : tensor<i32>
      %23 = sdy.data_flow_edge %21#1 : tensor<8x16xi32>
      %24 = sdy.data_flow_edge %21#2 : tensor<8x8xi32>
      %25 = sdy.constant dense<3> : tensor<i32>
      %26 = stablehlo.add %9, %25 : tensor<i32>
      %27 = sdy.constant dense<4> : tensor<i32>
      %28 = sdy.named_computation<"remainder">(%26, %27) (%arg4: tensor<i32>, %arg5: tensor<i32>) {
        %41 = sdy.data_flow_edge %arg4 : tensor<i32>
        %42 = sdy.data_flow_edge %arg5 : tensor<i32>
        %43 = stablehlo.convert %42 : tensor<i32>
        %44 = sdy.constant dense<0> : tensor<i32>
        %45 = stablehlo.compare EQ, %43, %44, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %46 = sdy.constant dense<1> : tensor<i32>
        %47 = sdy.named_computation<"_where">(%45, %46, %43) (%arg6: tensor<i1>, %arg7: tensor<i32>, %arg8: tensor<i32>) {
          %60 = sdy.data_flow_edge %arg6 : tensor<i1>
          %61 = sdy.data_flow_edge %arg7 : tensor<i32>
          %62 = sdy.data_flow_edge %arg8 : tensor<i32>
          %63 = stablehlo.select %60, %61, %62 : tensor<i1>, tensor<i32>
          sdy.return %63 : tensor<i32>
        } : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
        %48 = sdy.data_flow_edge %47 : tensor<i32>
        %49 = stablehlo.remainder %41, %48 : tensor<i32>
        %50 = sdy.constant dense<0> : tensor<i32>
        %51 = stablehlo.compare NE, %49, %50, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %52 = sdy.constant dense<0> : tensor<i32>
        %53 = stablehlo.compare LT, %49, %52, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %54 = sdy.constant dense<0> : tensor<i32>
        %55 = stablehlo.compare LT, %48, %54, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %56 = stablehlo.compare NE, %53, %55, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
        %57 = stablehlo.and %56, %51 : tensor<i1>
        %58 = stablehlo.add %49, %48 : tensor<i32>
        %59 = stablehlo.select %57, %58, %49 : tensor<i1>, tensor<i32>
        sdy.return %59 : tensor<i32>
      } : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %29 = sdy.data_flow_edge %28 : tensor<i32>
      %30 = sdy.constant dense<8> : tensor<i32>
      %31 = stablehlo.multiply %29, %30 : tensor<i32>
      %32 = sdy.constant dense<0> : tensor<i32>
      %33 = stablehlo.compare LT, %31, %32, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %34 = sdy.constant dense<32> : tensor<i32>
      %35 = stablehlo.add %31, %34 : tensor<i32>
      %36 = stablehlo.select %33, %35, %31 : tensor<i1>, tensor<i32>
      %37 = sdy.constant dense<0> : tensor<i32>
      %38 = stablehlo.dynamic_slice %3, %36, %37, sizes = [8, 16] : (tensor<32x16xi32>, tensor<i32>, tensor<i32>) -> tensor<8x16xi32>
      %39 = stablehlo.dot_general %24, %38, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
      %40 = stablehlo.add %23, %39 : tensor<8x16xi32>
      sdy.return %40 : tensor<8x16xi32>
    } : (tensor<16x32xi32>, tensor<32x64xi32>) -> tensor<16x64xi32>
    %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"X"}, {"Y"}]> : tensor<16x64xi32>
    return %1 : tensor<16x64xi32>
  }
}
