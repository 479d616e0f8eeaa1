//! Element types: the whole list of StableHLO, with their widths in storage.

use crate::quantized::{Quantized, QuantizedId};
use std::fmt;

macro_rules! dtypes {
    ($($variant:ident $name:literal $short:literal $bits:literal $storage:literal $kind:ident;)*) => {
        /// The type of one element.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum DType {
            $($variant,)*
            /// Integers that represent floats.
            Quantized(QuantizedId),
        }

        impl DType {
            /// All element types except the quantized ones, which are made when a program names them.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// Returns the name that StableHLO uses: `bf16`, `ui8`, `complex<f32>`.
            pub fn name(self) -> &'static str {
                match self {
                    $(DType::$variant => $name,)*
                    DType::Quantized(id) => id.name(),
                }
            }

            /// Returns the name that JAX's short types use: `bf16`, `u8`, `c64`, `bool`. Quantized types have the name
            /// that [`DType::name`] returns.
            pub fn short(self) -> &'static str {
                match self {
                    $(DType::$variant => $short,)*
                    DType::Quantized(id) => id.name(),
                }
            }

            /// Returns the number of bits that carry information. For a quantized type, this is the number of bits of
            /// its integers.
            pub fn bits(self) -> usize {
                match self {
                    $(DType::$variant => $bits,)*
                    DType::Quantized(id) => id.get().storage.bits(),
                }
            }

            /// Returns the number of bytes that one element takes in memory. A type of less than a byte takes a whole
            /// byte.
            pub fn storage_bytes(self) -> usize {
                match self {
                    $(DType::$variant => $storage,)*
                    DType::Quantized(id) => id.get().storage.storage_bytes(),
                }
            }

            /// Returns the kind of arithmetic of this type.
            pub const fn kind(self) -> DTypeKind {
                match self {
                    $(DType::$variant => DTypeKind::$kind,)*
                    DType::Quantized(_) => DTypeKind::Quantized,
                }
            }
        }
    };
}

/// The kind of arithmetic of an element type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DTypeKind {
    Bool,
    Signed,
    Unsigned,
    Float,
    Complex,
    /// No arithmetic of its own: values are computed as the floats that they represent.
    Quantized,
}

dtypes! {
    I1 "i1" "bool" 1 1 Bool;
    I2 "i2" "i2" 2 1 Signed;
    I4 "i4" "i4" 4 1 Signed;
    I8 "i8" "i8" 8 1 Signed;
    I16 "i16" "i16" 16 2 Signed;
    I32 "i32" "i32" 32 4 Signed;
    I64 "i64" "i64" 64 8 Signed;
    U2 "ui2" "u2" 2 1 Unsigned;
    U4 "ui4" "u4" 4 1 Unsigned;
    U8 "ui8" "u8" 8 1 Unsigned;
    U16 "ui16" "u16" 16 2 Unsigned;
    U32 "ui32" "u32" 32 4 Unsigned;
    U64 "ui64" "u64" 64 8 Unsigned;
    F4E2M1FN "f4E2M1FN" "f4e2m1fn" 4 1 Float;
    F6E2M3FN "f6E2M3FN" "f6e2m3fn" 6 1 Float;
    F6E3M2FN "f6E3M2FN" "f6e3m2fn" 6 1 Float;
    F8E3M4 "f8E3M4" "f8e3m4" 8 1 Float;
    F8E4M3 "f8E4M3" "f8e4m3" 8 1 Float;
    F8E4M3FN "f8E4M3FN" "f8e4m3fn" 8 1 Float;
    F8E4M3FNUZ "f8E4M3FNUZ" "f8e4m3fnuz" 8 1 Float;
    F8E4M3B11FNUZ "f8E4M3B11FNUZ" "f8e4m3b11fnuz" 8 1 Float;
    F8E5M2 "f8E5M2" "f8e5m2" 8 1 Float;
    F8E5M2FNUZ "f8E5M2FNUZ" "f8e5m2fnuz" 8 1 Float;
    F8E8M0FNU "f8E8M0FNU" "f8e8m0fnu" 8 1 Float;
    BF16 "bf16" "bf16" 16 2 Float;
    F16 "f16" "f16" 16 2 Float;
    F32 "f32" "f32" 32 4 Float;
    F64 "f64" "f64" 64 8 Float;
    C64 "complex<f32>" "c64" 64 8 Complex;
    C128 "complex<f64>" "c128" 128 16 Complex;
}

impl DType {
    /// Returns the element type with this StableHLO name, or `None`. Quantized types are not found.
    pub fn parse(name: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|d| d.name() == name)
    }

    /// Returns true if this is a float type. Complex and quantized types are none.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), DTypeKind::Float)
    }

    /// Returns true if this is a complex type.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), DTypeKind::Complex)
    }

    /// Returns true if this is a signed or unsigned integer type; `i1` is neither.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), DTypeKind::Signed | DTypeKind::Unsigned)
    }

    /// Returns true if this is a signed integer type.
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), DTypeKind::Signed)
    }

    /// Returns the smallest and the largest number of this type, which must be an integer type.
    pub fn integer_range(self) -> (i128, i128) {
        let bits = self.bits() as u32;
        if self.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
    }

    /// Returns true if this is the type of truth values, `i1`.
    pub const fn is_bool(self) -> bool {
        matches!(self, DType::I1)
    }

    /// Returns true if kernels and the Rust front end compute on this type. Other types are converted before they are
    /// computed with.
    pub const fn is_computed(self) -> bool {
        use DType::*;
        matches!(self, I1 | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | BF16 | F16 | F32 | F64 | C64 | C128)
    }

    /// Returns true if the type can represent 0, so that sums have an identity. `f8E8M0FNU` has powers of two only.
    pub fn has_zero(self) -> bool {
        self != DType::F8E8M0FNU
    }

    /// Returns the parameters of a quantized type, or `None` for other types.
    pub fn quantized(self) -> Option<&'static Quantized> {
        match self {
            DType::Quantized(id) => Some(id.get()),
            _ => None,
        }
    }

    /// Returns the type of the elements in memory: the integer type of a quantized type, else the type itself.
    pub fn storage(self) -> DType {
        self.quantized().map_or(self, |q| q.storage)
    }

    /// Returns the type of the numbers that the elements represent: the float type of a quantized type, else the type
    /// itself.
    pub fn expressed(self) -> DType {
        self.quantized().map_or(self, |q| q.expressed)
    }

    /// Returns the type of the real and imaginary parts of a complex type, or the type itself if it is real.
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }
}

/// Prints StableHLO's name of the type.
impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
