//! Element types as programs name them, and the Rust types that hold elements.

use crate::{Error, mistakes};
use shardwise_base::{self as base, Account, Bool8, Literal, Stop, bf16, bf16_nearest, f16, f16_nearest};
use std::fmt;
use std::str::FromStr;

macro_rules! dtypes {
    ($($(#[$doc:meta])* $name:ident = $base:ident),* $(,)?) => {
        /// The type of an array's elements, which is known when the program is traced, not when it is compiled by
        /// rustc.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum DType { $($(#[$doc])* $name),* }

        impl DType {
            const ALL: &[DType] = &[$(DType::$name),*];

            pub(crate) const fn base(self) -> base::DType { match self { $(DType::$name => base::DType::$base),* } }

            pub(crate) const fn of(dtype: base::DType) -> DType {
                match dtype {
                    $(base::DType::$base => DType::$name,)*
                    base::DType::Quantized(_) => panic!("traced programs have no quantized types"),
                }
            }
        }
    };
}

dtypes! {
    /// True or false.
    Bool = I1,
    /// Signed integers of 2 bits.
    I2 = I2,
    /// Signed integers of 4 bits.
    I4 = I4,
    /// Signed integers of 8 bits: `i8`.
    I8 = I8,
    /// Signed integers of 16 bits: `i16`.
    I16 = I16,
    /// Signed integers of 32 bits: `i32`.
    I32 = I32,
    /// Signed integers of 64 bits: `i64`.
    I64 = I64,
    /// Unsigned integers of 2 bits.
    U2 = U2,
    /// Unsigned integers of 4 bits.
    U4 = U4,
    /// Unsigned integers of 8 bits: `u8`.
    U8 = U8,
    /// Unsigned integers of 16 bits: `u16`.
    U16 = U16,
    /// Unsigned integers of 32 bits: `u32`.
    U32 = U32,
    /// Unsigned integers of 64 bits: `u64`.
    U64 = U64,
    /// Floats of 4 bits, 2 of them of the exponent, without infinities and NaNs.
    F4E2M1FN = F4E2M1FN,
    /// Floats of 6 bits, 2 of them of the exponent, without infinities and NaNs.
    F6E2M3FN = F6E2M3FN,
    /// Floats of 6 bits, 3 of them of the exponent, without infinities and NaNs.
    F6E3M2FN = F6E3M2FN,
    /// Floats of 8 bits, 3 of them of the exponent, as in IEEE 754.
    F8E3M4 = F8E3M4,
    /// Floats of 8 bits, 4 of them of the exponent, as in IEEE 754.
    F8E4M3 = F8E4M3,
    /// Floats of 8 bits, 4 of them of the exponent, with NaNs and without infinities.
    F8E4M3FN = F8E4M3FN,
    /// Floats of 8 bits, 4 of them of the exponent, with one NaN and without infinities and -0.
    F8E4M3FNUZ = F8E4M3FNUZ,
    /// As [`F8E4M3FNUZ`](DType::F8E4M3FNUZ), with the exponent bias 11.
    F8E4M3B11FNUZ = F8E4M3B11FNUZ,
    /// Floats of 8 bits, 5 of them of the exponent, as in IEEE 754.
    F8E5M2 = F8E5M2,
    /// Floats of 8 bits, 5 of them of the exponent, with one NaN and without infinities and -0.
    F8E5M2FNUZ = F8E5M2FNUZ,
    /// Powers of two, as exponents of 8 bits, and one NaN.
    F8E8M0FNU = F8E8M0FNU,
    /// Floats of 16 bits, 8 of them of the exponent: [`bf16`](crate::bf16).
    BF16 = BF16,
    /// Floats of 16 bits, 5 of them of the exponent: [`f16`](crate::f16).
    F16 = F16,
    /// Floats of 32 bits: `f32`.
    F32 = F32,
    /// Floats of 64 bits: `f64`.
    F64 = F64,
    /// Complex numbers of two floats of 32 bits.
    C64 = C64,
    /// Complex numbers of two floats of 64 bits.
    C128 = C128,
}

impl DType {
    /// Returns the number of bits of an element that carry information: 1 for `Bool`.
    pub fn bits(self) -> usize {
        self.base().bits()
    }

    /// Returns the number of bytes in which an element is stored: a whole byte for types of fewer than 8 bits.
    pub fn storage_bytes(self) -> usize {
        self.base().storage_bytes()
    }
}

/// Parses JAX's short name, as it is displayed: `bf16`, `u8`, `bool`.
///
/// # Errors
///
/// `dtype-name` for any other text.
impl FromStr for DType {
    type Err = Error;
    fn from_str(name: &str) -> Result<DType, Error> {
        let found = DType::ALL.iter().copied().find(|dtype| dtype.base().short() == name);
        found.ok_or_else(|| Error::one(mistakes::dtype_name(name)))
    }
}

/// Formats the type with JAX's short name: `bf16`, `u8`, `bool`.
impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base().short())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// Rust types that hold elements: arrays are made from them and read into them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type",
    label = "expected `f32`, `i32`, `bool`, `bf16`, …"
)]
pub trait Element: Copy + fmt::Debug + Default + PartialEq + Send + Sync + sealed::Sealed + 'static {
    /// The element type that this Rust type holds.
    const DTYPE: DType;
    #[doc(hidden)]
    fn to_literal(shape: &[usize], data: &[Self]) -> Literal;
    #[doc(hidden)]
    fn from_literal(literal: &Literal) -> Vec<Self>;
}

macro_rules! elements {
    ($($t:ty => $dtype:ident),* $(,)?) => { $(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
            fn to_literal(shape: &[usize], data: &[$t]) -> Literal { Literal::new(shape, data) }
            fn from_literal(literal: &Literal) -> Vec<$t> { collect(literal, |x: $t| x) }
        }
    )* };
}
elements!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64);

impl sealed::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::Bool;
    fn to_literal(shape: &[usize], data: &[bool]) -> Literal {
        Literal::from_fn(shape, |i| Bool8::from(data[i]))
    }
    fn from_literal(literal: &Literal) -> Vec<bool> {
        collect(literal, |b: Bool8| b.into())
    }
}

/// Returns `f` of each element, in row-major order. `T` must be the literal's element type. If there is no memory for
/// the vector, ends the computation as a memory limit does. The vector counts against the memory limits while it is
/// filled, and no longer when it is returned.
fn collect<T: base::Element, U: Clone>(literal: &Literal, f: impl Fn(T) -> U) -> Vec<U> {
    let (count, account) = (literal.size(), Account::current());
    let bytes = count.saturating_mul(size_of::<U>());
    let _counted = account.reserve(bytes).unwrap_or_else(|e| Stop::Memory(e).raise());
    let mut out = Vec::new();
    out.try_reserve_exact(count).unwrap_or_else(|_| Stop::Memory(account.refused_by_system(bytes)).raise());
    match literal.is_splat() {
        true => out.resize(count, f(literal.get(0))),
        false => out.extend(literal.as_slice::<T>().iter().map(|&x| f(x))),
    }
    out
}

/// A Rust number or bool as an operand. If it is combined with an array, it takes the array's dtype.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Number {
    Float(f64),
    Int(i128),
    Bool(bool),
}

/// The reason why a number cannot take a dtype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Misfit {
    FloatOnInteger,
    BoolOnNumber,
    NumberOnBool,
    OutOfRange,
    NotComputed,
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Float(x) => write!(f, "{x:?}"),
            Number::Int(x) => write!(f, "{x}"),
            Number::Bool(x) => write!(f, "{x}"),
        }
    }
}

impl Number {
    /// Returns the number as one element of `dtype`, rounded if that is a float or complex type, or the reason why it
    /// cannot take this dtype.
    pub(crate) fn as_literal(self, dtype: base::DType) -> Result<Literal, Misfit> {
        match (self, dtype.kind()) {
            _ if !dtype.is_computed() => Err(Misfit::NotComputed),
            (Number::Bool(b), base::DTypeKind::Bool) => Ok(Literal::scalar(Bool8::from(b))),
            (Number::Bool(_), _) => Err(Misfit::BoolOnNumber),
            (_, base::DTypeKind::Bool) => Err(Misfit::NumberOnBool),
            (Number::Float(_), base::DTypeKind::Signed | base::DTypeKind::Unsigned) => Err(Misfit::FloatOnInteger),
            (Number::Float(x), _) => Ok(float_literal(x, dtype)),
            (Number::Int(x), base::DTypeKind::Float | base::DTypeKind::Complex) => Ok(float_literal(x as f64, dtype)),
            (Number::Int(x), _) => integer_literal(x, dtype).ok_or(Misfit::OutOfRange),
        }
    }
}

fn float_literal(x: f64, dtype: base::DType) -> Literal {
    use base::DType::*;
    match dtype {
        F64 => Literal::scalar(x),
        F32 => Literal::scalar(x as f32),
        BF16 => Literal::scalar(bf16_nearest(x)),
        F16 => Literal::scalar(f16_nearest(x)),
        C64 => Literal::scalar(base::Complex32::new(x as f32, 0.0)),
        C128 => Literal::scalar(base::Complex64::new(x, 0.0)),
        other => unreachable!("{other} is not a computed float"),
    }
}

pub(crate) fn integer_literal(x: i128, dtype: base::DType) -> Option<Literal> {
    let (low, high) = dtype.integer_range();
    let bytes = &x.to_le_bytes()[..dtype.storage_bytes()];
    (low..=high).contains(&x).then(|| Literal::from_bytes(dtype, &[], bytes).expect("one element"))
}
