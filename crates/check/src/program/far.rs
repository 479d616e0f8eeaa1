//! Programs with positions that do not fit signed integers of 32 bits.
//!
//! The interpreter cannot hold so many elements, so the program checks its own result. The host computes the elements
//! within the reduction.

use super::Maker;
use shardwise_base::DType;

/// The largest number of elements whose positions all fit signed integers of 32 bits.
const BEYOND: usize = 1 << 31;

impl Maker {
    pub(super) fn far_program(&mut self) -> String {
        let size = BEYOND + 2 + self.choose.below(1000);
        let dtype = *self.choose.of(&[DType::I64, DType::U64, DType::U32, DType::F64]);
        let [zero, last] = [0, size - 1].map(|n| if dtype.is_float() { format!("{n}.0") } else { n.to_string() });
        let (scalar, array) = (format!("tensor<{dtype}>"), format!("tensor<{size}x{dtype}>"));
        format!(
            "{}func.func public @main() -> ({scalar}) {{
  %positions = stablehlo.iota dim = 0 : {array}
  %zero = stablehlo.constant dense<{zero}> : {scalar}
  %largest = stablehlo.reduce(%positions init: %zero) applies stablehlo.maximum across dimensions = [0] : ({array}, {scalar}) -> {scalar}
  %last = stablehlo.constant dense<{last}> : {scalar}
  check.expect_eq %largest, %last : {scalar}
  return %largest : {scalar}
}}
",
            self.meshes.text()
        )
    }
}
