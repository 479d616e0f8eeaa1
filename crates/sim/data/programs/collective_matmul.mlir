module {
  sdy.mesh @mesh = <["X"=2, "Y"=4]>
  func.func public @main(%arg0: tensor<512x512xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>, shardwise.global_type = tensor<1024x2048xi32>, shardwise.varying = "{X,Y}"}, %arg1: tensor<2048x2048xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>, shardwise.global_type = tensor<2048x8192xi32>, shardwise.varying = "{Y}"}) -> (tensor<512x2048xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>, shardwise.global_type = tensor<1024x8192xi32>}) {
    %0 = shardwise.axis_index <@mesh, {"Y"}> {shardwise.varying = ["{Y}"]} : tensor<i32>
    %1 = stablehlo.constant {shardwise.varying = ["{}"]} dense<4> : tensor<i32>
    %2 = stablehlo.constant {shardwise.varying = ["{}"]} dense<0> : tensor<i32>
    %3 = stablehlo.constant {shardwise.varying = ["{}"]} dense<512> : tensor<i32>
    %4 = "stablehlo.collective_permute"(%arg0) {shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "Y">]>, shardwise.shift = -1 : i64, shardwise.varying = ["{X,Y}"], shardwise.wraps} : (tensor<512x512xi32>) -> tensor<512x512xi32>
    %5 = stablehlo.add %0, %2 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %6 = stablehlo.remainder %5, %1 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %7 = stablehlo.multiply %6, %3 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %8 = stablehlo.dynamic_slice %arg1, %7, %2, sizes = [512, 2048] {shardwise.varying = ["{Y}"]} : (tensor<2048x2048xi32>, tensor<i32>, tensor<i32>) -> tensor<512x2048xi32>
    %9 = stablehlo.dot_general %arg0, %8, contracting_dims = [1] x [0] {shardwise.varying = ["{X,Y}"]} : (tensor<512x512xi32>, tensor<512x2048xi32>) -> tensor<512x2048xi32>
    %10 = "stablehlo.collective_permute"(%4) {shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "Y">]>, shardwise.shift = -1 : i64, shardwise.varying = ["{X,Y}"], shardwise.wraps} : (tensor<512x512xi32>) -> tensor<512x512xi32>
    %11 = stablehlo.constant {shardwise.varying = ["{}"]} dense<1> : tensor<i32>
    %12 = stablehlo.add %0, %11 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %13 = stablehlo.remainder %12, %1 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %14 = stablehlo.multiply %13, %3 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %15 = stablehlo.dynamic_slice %arg1, %14, %2, sizes = [512, 2048] {shardwise.varying = ["{Y}"]} : (tensor<2048x2048xi32>, tensor<i32>, tensor<i32>) -> tensor<512x2048xi32>
    %16 = stablehlo.dot_general %4, %15, contracting_dims = [1] x [0] {shardwise.varying = ["{X,Y}"]} : (tensor<512x512xi32>, tensor<512x2048xi32>) -> tensor<512x2048xi32>
    %17 = stablehlo.add %9, %16 {shardwise.varying = ["{X,Y}"]} : tensor<512x2048xi32>
    %18 = "stablehlo.collective_permute"(%10) {shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "Y">]>, shardwise.shift = -1 : i64, shardwise.varying = ["{X,Y}"], shardwise.wraps} : (tensor<512x512xi32>) -> tensor<512x512xi32>
    %19 = stablehlo.constant {shardwise.varying = ["{}"]} dense<2> : tensor<i32>
    %20 = stablehlo.add %0, %19 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %21 = stablehlo.remainder %20, %1 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %22 = stablehlo.multiply %21, %3 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %23 = stablehlo.dynamic_slice %arg1, %22, %2, sizes = [512, 2048] {shardwise.varying = ["{Y}"]} : (tensor<2048x2048xi32>, tensor<i32>, tensor<i32>) -> tensor<512x2048xi32>
    %24 = stablehlo.dot_general %10, %23, contracting_dims = [1] x [0] {shardwise.varying = ["{X,Y}"]} : (tensor<512x512xi32>, tensor<512x2048xi32>) -> tensor<512x2048xi32>
    %25 = stablehlo.add %17, %24 {shardwise.varying = ["{X,Y}"]} : tensor<512x2048xi32>
    %26 = stablehlo.constant {shardwise.varying = ["{}"]} dense<3> : tensor<i32>
    %27 = stablehlo.add %0, %26 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %28 = stablehlo.remainder %27, %1 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %29 = stablehlo.multiply %28, %3 {shardwise.varying = ["{Y}"]} : tensor<i32>
    %30 = stablehlo.dynamic_slice %arg1, %29, %2, sizes = [512, 2048] {shardwise.varying = ["{Y}"]} : (tensor<2048x2048xi32>, tensor<i32>, tensor<i32>) -> tensor<512x2048xi32>
    %31 = stablehlo.dot_general %18, %30, contracting_dims = [1] x [0] {shardwise.varying = ["{X,Y}"]} : (tensor<512x512xi32>, tensor<512x2048xi32>) -> tensor<512x2048xi32>
    %32 = stablehlo.add %25, %31 {shardwise.varying = ["{X,Y}"]} : tensor<512x2048xi32>
    return %32 : tensor<512x2048xi32>
  }
}
