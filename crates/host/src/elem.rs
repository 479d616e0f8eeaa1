//! The element types that kernels read and write.
#![forbid(unsafe_code)]

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the types")]
pub enum Elem {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
    C64,
    C128,
}

impl Elem {
    /// Returns the number of bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Elem::Bool | Elem::I8 | Elem::U8 => 1,
            Elem::I16 | Elem::U16 | Elem::F16 | Elem::BF16 => 2,
            Elem::I32 | Elem::U32 | Elem::F32 => 4,
            Elem::I64 | Elem::U64 | Elem::F64 | Elem::C64 => 8,
            Elem::C128 => 16,
        }
    }

    /// Returns whether the elements are floats, whose arithmetic rounds.
    pub const fn is_float(self) -> bool {
        matches!(self, Elem::F16 | Elem::BF16 | Elem::F32 | Elem::F64)
    }

    /// Returns whether the elements are signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64)
    }

    /// Returns whether the elements are unsigned integers.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Elem::U8 | Elem::U16 | Elem::U32 | Elem::U64)
    }

    /// Returns whether the elements are pairs of floats.
    pub const fn is_complex(self) -> bool {
        matches!(self, Elem::C64 | Elem::C128)
    }

    /// Returns whether lanes that compute this type have 64 bits.
    pub const fn is_wide(self) -> bool {
        matches!(self, Elem::I64 | Elem::U64 | Elem::F64)
    }

    /// Returns the type in which sums of this type are computed.
    pub const fn summed(self) -> Elem {
        match self {
            Elem::BF16 | Elem::F16 => Elem::F32,
            _ => self,
        }
    }
}
