//! The element types that kernels read and write.
#![forbid(unsafe_code)]

use bytemuck::Pod;
use num_complex::{Complex32, Complex64};
use shardwise_base::DType;
use shardwise_ops::elementwise::{narrow, widen};

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Returns the element type for a dtype, or `None` for a dtype that kernels do not compute on, such as a quantized
    /// type, `i4` or an 8-bit float.
    pub const fn of(dtype: DType) -> Option<Elem> {
        Some(match dtype {
            DType::I1 => Elem::Bool,
            DType::I8 => Elem::I8,
            DType::I16 => Elem::I16,
            DType::I32 => Elem::I32,
            DType::I64 => Elem::I64,
            DType::U8 => Elem::U8,
            DType::U16 => Elem::U16,
            DType::U32 => Elem::U32,
            DType::U64 => Elem::U64,
            DType::F16 => Elem::F16,
            DType::BF16 => Elem::BF16,
            DType::F32 => Elem::F32,
            DType::F64 => Elem::F64,
            DType::C64 => Elem::C64,
            DType::C128 => Elem::C128,
            _ => return None,
        })
    }

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

    /// Returns true if the elements are floats, whose arithmetic rounds. Complex numbers are not floats.
    pub const fn is_float(self) -> bool {
        matches!(self, Elem::F16 | Elem::BF16 | Elem::F32 | Elem::F64)
    }

    /// Returns true if the elements are signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64)
    }

    /// Returns true if the elements are unsigned integers. Truth values are not integers.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Elem::U8 | Elem::U16 | Elem::U32 | Elem::U64)
    }

    /// Returns true if the elements are complex numbers, which are pairs of floats.
    pub const fn is_complex(self) -> bool {
        matches!(self, Elem::C64 | Elem::C128)
    }

    /// Returns the number of real elements that an element is: 2 if it is complex, and 1 otherwise.
    pub const fn parts(self) -> usize {
        if self.is_complex() { 2 } else { 1 }
    }

    /// Returns the type of the parts of an element, which is this type if it is real.
    pub const fn part(self) -> Elem {
        match self {
            Elem::C64 => Elem::F32,
            Elem::C128 => Elem::F64,
            _ => self,
        }
    }

    /// Returns true if this is a real type of 64-bit elements, which only lanes of 64 bits compute.
    pub const fn is_wide(self) -> bool {
        matches!(self, Elem::I64 | Elem::U64 | Elem::F64)
    }

    /// Returns true if this is a real type of 32 or 64 bits, whose elements fill the words of a program for the type.
    pub const fn fills_words(self) -> bool {
        matches!(self, Elem::F32 | Elem::F64 | Elem::I32 | Elem::U32 | Elem::I64 | Elem::U64)
    }

    /// Returns the type in which sums of this type are computed: `F32` for `BF16` and `F16`, and this type otherwise.
    pub const fn summed(self) -> Elem {
        match self {
            Elem::BF16 | Elem::F16 => Elem::F32,
            _ => self,
        }
    }
}

/// A complex type. Numbers are combined as pairs of `f64`.
pub trait ComplexNumber: Pod {
    fn widen(self) -> Complex64;
    fn narrow(wide: Complex64) -> Self;
}

impl ComplexNumber for Complex32 {
    fn widen(self) -> Complex64 {
        widen(self)
    }
    fn narrow(wide: Complex64) -> Complex32 {
        narrow(wide)
    }
}

impl ComplexNumber for Complex64 {
    fn widen(self) -> Complex64 {
        self
    }
    fn narrow(wide: Complex64) -> Complex64 {
        wide
    }
}
