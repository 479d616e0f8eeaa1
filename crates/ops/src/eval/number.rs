//! Elements of any type as numbers, for conversions, iota and others.

use super::with_element;
use shardwise_base::small::*;
use shardwise_base::{Bool8, Complex32, Complex64, DType, Element, Literal, bf16, f16};

/// A number, in the type of arithmetic for its element type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Number {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    /// A number of type f32 or a narrower float type.
    Single(f32),
    Double(f64),
    Complex(Complex64),
}

/// Element types that convert to and from [`Number`] as `stablehlo.convert` specifies.
///
/// Integers wrap. Floats that become integers are rounded toward zero and saturate, and NaN becomes 0. Zero becomes
/// false, and all other numbers, NaN included, become true. Numbers that become floats of less than 32 bits are rounded
/// to f32 first. Complex numbers that become real numbers or booleans lose their imaginary part before anything else.
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

macro_rules! small_integers {
    ($variant:ident $wide:ty: $($t:ty)*) => {$(
        impl Numeric for $t {
            fn to_number(self) -> Number {
                Number::$variant(self.get())
            }
            fn from_number(n: Number) -> $t {
                <$t>::wrap(match n {
                    // Floats saturate at the ends of the type.
                    Number::Single(_) | Number::Double(_) | Number::Complex(_) => {
                        saturate(n.to_f64(), <$t>::DTYPE) as $wide
                    }
                    other => <$wide>::from_number(other),
                })
            }
        }
    )*};
}
small_integers!(Signed i64: I2 I4);
small_integers!(Unsigned u64: U2 U4);

/// Returns `x` rounded toward zero and clamped to the numbers that `dtype`, an integer type of less than a byte, can
/// represent. NaN becomes 0.
fn saturate(x: f64, dtype: DType) -> i64 {
    let bits = dtype.bits() as u32 - u32::from(dtype.is_signed());
    let least = if dtype.is_signed() { -(1i64 << bits) } else { 0 };
    (x as i64).clamp(least, (1 << bits) - 1)
}

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
            Number::Complex(z) => z.re != 0.0,
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
    Complex32: Complex |z: Complex32| Complex64::new(z.re.into(), z.im.into()), |n: Number| match n {
        Number::Complex(z) => Complex32::new(z.re as f32, z.im as f32),
        real => Complex32::new(real.to_f32(), 0.0),
    };
    Complex64: Complex Complex64::from, Number::to_complex;
}

macro_rules! small_floats {
    ($($t:ty)*) => {
        numeric! { $($t: Single <$t>::to_f32, |n: Number| <$t>::from_f32(n.to_f32());)* }
    };
}
small_floats! {
    F4E2M1FN F6E2M3FN F6E3M2FN F8E3M4 F8E4M3 F8E4M3FN F8E4M3FNUZ F8E4M3B11FNUZ F8E5M2 F8E5M2FNUZ F8E8M0FNU
}

/// Returns a function that returns the element of `x` at a row-major index. `x` must not be a splat.
pub(crate) fn read_numbers(x: &Literal) -> Box<dyn Fn(usize) -> Number + '_> {
    with_element!(x.dtype(), T => {
        let elements = x.as_slice::<T>();
        Box::new(move |i| elements[i].to_number())
    })
}

pub(crate) fn fill(dtype: DType, shape: &[usize], get: impl Fn(usize) -> Number) -> Literal {
    fill_with(dtype, shape, &get)
}

/// Fills a literal as [`fill`] does. This function is not generic, so that it is compiled once and not for each caller.
fn fill_with(dtype: DType, shape: &[usize], get: &dyn Fn(usize) -> Number) -> Literal {
    with_element!(dtype, T => Literal::from_fn(shape, |i| T::from_number(get(i))))
}

pub(crate) fn convert(x: &Literal, to: DType) -> Literal {
    match (x.dtype(), to) {
        (from, to) if from == to => x.clone(),
        (DType::F32, DType::BF16) => super::map(x, bf16::from_f32),
        (DType::BF16, DType::F32) => super::map(x, bf16::to_f32),
        _ if x.is_splat() => {
            let one = convert(&Literal::splat(x.dtype(), vec![], x.raw_bytes()).to_dense(), to);
            Literal::splat(to, x.shape(), one.element_bytes(0))
        }
        _ => fill(to, x.shape(), read_numbers(x)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_become_complex_numbers_with_the_real_part_that_is_their_float() {
        // Rounding to f64 first would end halfway between two floats, and then take the even one below.
        let x = Literal::new([2], &[9007199791611905i64, -9007199791611905]);
        let (real, complex) = (convert(&x, DType::F32), convert(&x, DType::C64));
        assert_eq!(real.as_slice::<f32>(), [9007200328482816.0, -9007200328482816.0]);
        let parts = complex.as_slice::<Complex32>().iter().map(|z| (z.re, z.im));
        assert_eq!(parts.collect::<Vec<_>>(), [(9007200328482816.0, 0.0), (-9007200328482816.0, 0.0)]);
    }
}
