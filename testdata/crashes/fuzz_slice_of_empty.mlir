// runs
func.func @main(%x: tensor<0x5xi16>, %y: tensor<0x2xi16>, %i: tensor<i32>) -> (tensor<0x2xi16>, tensor<0x5xi16>, tensor<0x9xi16>) {
  %c = stablehlo.constant dense<3> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i16>
  %0 = stablehlo.dynamic_slice %x, %c, %c, sizes = [0, 2] : (tensor<0x5xi16>, tensor<i32>, tensor<i32>) -> tensor<0x2xi16>
  %1 = stablehlo.dynamic_update_slice %x, %y, %c, %c : (tensor<0x5xi16>, tensor<0x2xi16>, tensor<i32>, tensor<i32>) -> tensor<0x5xi16>
  %2 = stablehlo.pad %x, %z, low = [0, 4], high = [0, 0], interior = [0, 0] : (tensor<0x5xi16>, tensor<i16>) -> tensor<0x9xi16>
  return %0, %1, %2 : tensor<0x2xi16>, tensor<0x5xi16>, tensor<0x9xi16>
}
