//! Elements as numbers, whatever their type: for conversions, iota and the like.

use super::with_element;
use shardwise_base::{Bool8, Complex32, Complex64, DType, Element, Literal, bf16, f16};

/// A number in the arithmetic that its element type is computed in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Number {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    /// Of f16, bf16 and f32.
    Single(f32),
    Double(f64),
    Complex(Complex64),
}

/// Element types that convert to and from [`Number`] as `stablehlo.convert` says: integers wrap, floats to integers
/// saturate and NaN gives 0, anything but zero is true, complex numbers lose their imaginary part.
pub(crate) trait Numeric: Element {
    fn to_number(self) -> Number;
    fn from_number(n: Number) -> Self;
}

macro_rules! integers {
    ($variant:ident $wide:ty: $($t:ty)*) => {$(
        impl Numeric for $t {
            fn to_number(self) -> Number {
                Number::$variant(<$wide>::from(self))
            }
            fn from_number(n: Number) -> $t {
                match n {
                    Number::Bool(b) => <$t>::from(b),
                    Number::Signed(i) => i as $t,
                    Number::Unsigned(u) => u as $t,
                    Number::Single(x) => x as $t,
                    Number::Double(x) => x as $t,
                    Number::Complex(z) => z.re as $t,
                }
            }
        }
    )*};
}
integers!(Signed i64: i8 i16 i32 i64);
integers!(Unsigned u64: u8 u16 u32 u64);

impl Number {
    fn to_f32(self) -> f32 {
        match self {
            Number::Bool(b) => f32::from(u8::from(b)),
            Number::Signed(i) => i as f32,
            Number::Unsigned(u) => u as f32,
            Number::Single(x) => x,
            Number::Double(x) => x as f32,
            Number::Complex(z) => z.re as f32,
        }
    }

    fn to_f64(self) -> f64 {
        match self {
            Number::Bool(b) => f64::from(u8::from(b)),
            Number::Signed(i) => i as f64,
            Number::Unsigned(u) => u as f64,
            Number::Single(x) => f64::from(x),
            Number::Double(x) => x,
            Number::Complex(z) => z.re,
        }
    }

    fn to_complex(self) -> Complex64 {
        match self {
            Number::Complex(z) => z,
            real => Complex64::new(real.to_f64(), 0.0),
        }
    }

    fn is_true(self) -> bool {
        match self {
            Number::Bool(b) => b,
            Number::Signed(i) => i != 0,
            Number::Unsigned(u) => u != 0,
            Number::Single(x) => x != 0.0,
            Number::Double(x) => x != 0.0,
            Number::Complex(z) => z.re != 0.0 || z.im != 0.0,
        }
    }
}

macro_rules! numeric {
    ($($t:ty: $variant:ident $to:expr, $from:expr;)*) => {$(
        impl Numeric for $t {
            fn to_number(self) -> Number {
                Number::$variant($to(self))
            }
            fn from_number(n: Number) -> $t {
                $from(n)
            }
        }
    )*};
}
numeric! {
    Bool8: Bool bool::from, |n: Number| Bool8::from(n.is_true());
    f16: Single f16::to_f32, |n: Number| f16::from_f32(n.to_f32());
    bf16: Single bf16::to_f32, |n: Number| bf16::from_f32(n.to_f32());
    f32: Single f32::from, Number::to_f32;
    f64: Double f64::from, Number::to_f64;
    Complex32: Complex |z: Complex32| Complex64::new(z.re.into(), z.im.into()), |n: Number| {
        let z = n.to_complex();
        Complex32::new(z.re as f32, z.im as f32)
    };
    Complex64: Complex Complex64::from, Number::to_complex;
}

/// The elements of a dense literal by index; `None` for types that are not computed.
pub(crate) fn read_numbers(x: &Literal) -> Option<Box<dyn Fn(usize) -> Number + '_>> {
    with_element!(x.dtype(), T => {
        let elements = x.as_slice::<T>();
        Some(Box::new(move |i| elements[i].to_number()))
    }, None)
}

/// A literal whose element `i` is `get(i)`; `None` for types that are not computed.
pub(crate) fn fill(dtype: DType, shape: &[usize], get: impl Fn(usize) -> Number) -> Option<Literal> {
    let count: usize = shape.iter().product();
    with_element!(dtype, T => {
        let out: Vec<T> = (0..count).map(|i| T::from_number(get(i))).collect();
        Some(Literal::new(shape, &out))
    }, None)
}
