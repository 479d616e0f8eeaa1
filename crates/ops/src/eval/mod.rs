//! Functions that reference evaluation is built from: maps over elements, strided copies, reducers. They are plain but
//! typed, and allocate nothing per element.

mod combine;
mod number;
mod strided;

pub(crate) use combine::{can_combine, combine};
pub(crate) use number::{Number, Numeric, convert, fill, read_numbers};
pub(crate) use strided::{Layout, copy, gather, row_major};

use shardwise_base::{Element, Literal};

pub(crate) fn splat<T: Element>(shape: &[usize], value: T) -> Literal {
    Literal::splat(T::DTYPE, shape, bytemuck::bytes_of(&value))
}

/// Applies `f` to each element. The result for a splat is a splat.
///
/// The loop is compiled for each pair of types and not for each `f`, of which there are thousands.
pub(crate) fn map<A: Element, R: Element>(x: &Literal, f: impl Fn(A) -> R) -> Literal {
    fn each<A: Element, R: Element>(x: &Literal, f: &dyn Fn(A) -> R) -> Literal {
        if x.is_splat() {
            return splat(x.shape(), f(x.get(0)));
        }
        let x_elements = x.as_slice::<A>();
        Literal::from_fn(x.shape(), |i| f(x_elements[i]))
    }
    each(x, &f)
}

pub(crate) fn zip<A: Element, B: Element, R: Element>(x: &Literal, y: &Literal, f: impl Fn(A, B) -> R) -> Literal {
    fn each<A: Element, B: Element, R: Element>(x: &Literal, y: &Literal, f: &dyn Fn(A, B) -> R) -> Literal {
        if y.is_splat() {
            let b = y.get(0);
            return map(x, |a| f(a, b));
        }
        if x.is_splat() {
            let a = x.get(0);
            return map(y, |b| f(a, b));
        }
        let (x_elements, y_elements) = (x.as_slice::<A>(), y.as_slice::<B>());
        Literal::from_fn(x.shape(), |i| f(x_elements[i], y_elements[i]))
    }
    each(x, y, &f)
}

/// Returns a function that takes a flag and an index, and returns the element at the index: of `x` if the flag is true,
/// and of `y` otherwise. Either may be a splat.
pub(crate) fn zip_fn<'a, T: Element>(x: &'a Literal, y: &'a Literal) -> impl Fn(bool, usize) -> T + 'a {
    let (x, y) = (elements::<T>(x), elements::<T>(y));
    move |first, i| if first { x(i) } else { y(i) }
}

pub(crate) fn elements<T: Element>(x: &Literal) -> impl Fn(usize) -> T + '_ {
    let (slice, step) = if x.is_splat() { (bytemuck::cast_slice(x.raw_bytes()), 0) } else { (x.as_slice(), 1) };
    move |i| slice[i * step]
}

/// Returns a scalar as a splat of this shape, and any other literal unchanged, also if it has another shape.
pub(crate) fn spread(x: &Literal, shape: &[usize]) -> Literal {
    if x.rank() == 0 && !shape.is_empty() { Literal::splat(x.dtype(), shape, x.element_bytes(0)) } else { x.clone() }
}

/// Runs `$body`, in which `$T` is the Rust type of elements of type `$dtype`, or of its storage type if it is
/// quantized.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use shardwise_base::{Bool8, Complex32, Complex64, DType, bf16, f16, small};
        macro_rules! arm {
            ($t:ty) => {{
                type $T = $t;
                $body
            }};
        }
        match $dtype.storage() {
            DType::I1 => arm!(Bool8),
            DType::I8 => arm!(i8),
            DType::I16 => arm!(i16),
            DType::I32 => arm!(i32),
            DType::I64 => arm!(i64),
            DType::U8 => arm!(u8),
            DType::U16 => arm!(u16),
            DType::U32 => arm!(u32),
            DType::U64 => arm!(u64),
            DType::F16 => arm!(f16),
            DType::BF16 => arm!(bf16),
            DType::F32 => arm!(f32),
            DType::F64 => arm!(f64),
            DType::C64 => arm!(Complex32),
            DType::C128 => arm!(Complex64),
            DType::I2 => arm!(small::I2),
            DType::I4 => arm!(small::I4),
            DType::U2 => arm!(small::U2),
            DType::U4 => arm!(small::U4),
            DType::F4E2M1FN => arm!(small::F4E2M1FN),
            DType::F6E2M3FN => arm!(small::F6E2M3FN),
            DType::F6E3M2FN => arm!(small::F6E3M2FN),
            DType::F8E3M4 => arm!(small::F8E3M4),
            DType::F8E4M3 => arm!(small::F8E4M3),
            DType::F8E4M3FN => arm!(small::F8E4M3FN),
            DType::F8E4M3FNUZ => arm!(small::F8E4M3FNUZ),
            DType::F8E4M3B11FNUZ => arm!(small::F8E4M3B11FNUZ),
            DType::F8E5M2 => arm!(small::F8E5M2),
            DType::F8E5M2FNUZ => arm!(small::F8E5M2FNUZ),
            DType::F8E8M0FNU => arm!(small::F8E8M0FNU),
            DType::Quantized(_) => unreachable!("a storage type is an integer type"),
        }
    }};
}
pub(crate) use with_element;
