//! Rust types for elements of less than a byte, and for floats of eight bits and less.
//!
//! They have no arithmetic of their own: values are read, converted to a wider type for computation, and written back.
//! Integers wrap. Floats are rounded to the nearest value, as [`DType::small_float_code`] does.

use crate::{DType, Element};
use std::sync::LazyLock;

/// Integers of less than a byte, stored in a byte. The unused high bits are zeros, or copies of the sign bit for signed
/// types.
macro_rules! integers {
    ($($t:ident $inner:ty, $wide:ty, $bits:literal, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, bytemuck::Zeroable, bytemuck::Pod)]
        #[repr(transparent)]
        pub struct $t(pub $inner);

        impl $t {
            /// Returns the integer with the low bits of a number.
            pub fn wrap(x: $wide) -> $t {
                const UNUSED: u32 = <$inner>::BITS - $bits;
                $t((x as $inner) << UNUSED >> UNUSED)
            }

            /// Returns the number.
            pub fn get(self) -> $wide {
                self.0.into()
            }
        }

        impl Element for $t {
            const DTYPE: DType = DType::$t;
        }
    )*};
}
integers! {
    I2 i8, i64, 2, "`i2`: -2 to 1.";
    I4 i8, i64, 4, "`i4`: -8 to 7.";
    U2 u8, u64, 2, "`ui2`: 0 to 3.";
    U4 u8, u64, 4, "`ui4`: 0 to 15.";
}

macro_rules! floats {
    ($($t:ident)*) => {$(
        /// The code of a float of the StableHLO type with this name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::Zeroable, bytemuck::Pod)]
        #[repr(transparent)]
        pub struct $t(pub u8);

        impl $t {
            /// Returns the value, which is always exact as an `f32`.
            #[inline]
            pub fn to_f32(self) -> f32 {
                static VALUES: LazyLock<Vec<f32>> = LazyLock::new(|| values(DType::$t));
                VALUES[usize::from(self.0)]
            }

            /// Returns the nearest value, ties to the even code, or upwards in `f8E8M0FNU`. NaN and numbers outside of
            /// the range of the type are converted as [`DType::small_float_code`] states.
            #[inline]
            pub fn from_f32(x: f32) -> $t {
                $t(DType::$t.small_float_code(x.into()).expect("a small float type"))
            }
        }

        impl Element for $t {
            const DTYPE: DType = DType::$t;
        }
    )*};
}
floats! { F4E2M1FN F6E2M3FN F6E3M2FN F8E3M4 F8E4M3 F8E4M3FN F8E4M3FNUZ F8E4M3B11FNUZ F8E5M2 F8E5M2FNUZ F8E8M0FNU }

/// Returns the values of all bytes. Bits that the type does not have are ignored.
fn values(dtype: DType) -> Vec<f32> {
    let mask = (1u32 << dtype.bits()) - 1;
    (0..=u8::MAX).map(|b| dtype.small_float(b & mask as u8).expect("a small float type") as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap() {
        assert_eq!([-3, -2, 1, 2].map(|x| I2::wrap(x).get()), [1, -2, 1, -2]);
        assert_eq!([7, 8, -9, 255].map(|x| I4::wrap(x).get()), [7, -8, 7, -1]);
        assert_eq!([3, 4, 16].map(|x| U2::wrap(x).get()), [3, 0, 0]);
        assert_eq!([15, 16, 17].map(|x| U4::wrap(x).get()), [15, 0, 1]);
    }

    #[test]
    fn floats_keep_their_values() {
        assert_eq!(F8E5M2::from_f32(1.1).to_f32(), 1.0);
        assert_eq!(F8E4M3FN::from_f32(-448.0).to_f32(), -448.0);
        assert_eq!(F4E2M1FN::from_f32(2.6).to_f32(), 3.0);
        assert_eq!(F8E8M0FNU::from_f32(3.1).to_f32(), 4.0);
    }
}
