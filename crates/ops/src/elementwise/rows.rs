//! Elementwise ops on complex numbers, and others without a block program, as functions of rows: contiguous elements,
//! given as bytes.
//!
//! The reference evaluation and the kernels of engines run the same functions, so that their results are equal bit for
//! bit. A function is compiled for each op, so that no call is made for an element.

use super::binary::{power_signed, power_unsigned};
use super::complex::{exps, narrow, widen};
use super::{ADD, ATAN2, Compare, DIVIDE, MAXIMUM, MINIMUM, MULTIPLY, POWER, SUBTRACT, special, unary};
use crate::Opcode;
use crate::eval::Numeric;
use bytemuck::Pod;
use shardwise_base::budget::Meter;
use shardwise_base::{Bool8, Complex32, Complex64, DType, Literal};
use shardwise_ir::OpView;
use std::array;

/// A function of the elements of one row, which writes as many results into its last argument.
pub type Map = fn(&[u8], &mut [u8]);

/// A function of the elements of two rows of one length, which writes as many results into its last argument.
pub type Zip = fn(&[u8], &[u8], &mut [u8]);

/// A function of the elements of a row, whose arguments or results are complex, for each of the two complex types.
#[derive(Clone, Copy)]
pub struct ComplexMap {
    pub of_c64: Map,
    pub of_c128: Map,
}

/// A function of the complex elements of two rows, for each of the two complex types.
#[derive(Clone, Copy)]
pub struct ComplexZip {
    pub of_c64: Zip,
    pub of_c128: Zip,
}

impl ComplexMap {
    /// Returns the function for a type, which must be complex.
    pub fn of(self, dtype: DType) -> Map {
        if dtype == DType::C64 { self.of_c64 } else { self.of_c128 }
    }
}

impl ComplexZip {
    /// Returns the function for a type, which must be complex.
    pub fn of(self, dtype: DType) -> Zip {
        if dtype == DType::C64 { self.of_c64 } else { self.of_c128 }
    }
}

/// Returns a function of complex numbers with complex results as a [`ComplexMap`].
macro_rules! complex_map {
    ($f:expr) => {
        $crate::elementwise::rows::ComplexMap {
            of_c64: |x, y| $crate::elementwise::rows::map_narrow(x, y, $f),
            of_c128: |x, y| $crate::elementwise::rows::map_wide(x, y, $f),
        }
    };
}
pub(super) use complex_map;

/// Returns a function of complex numbers with real results as a [`ComplexMap`].
macro_rules! real_map {
    ($f:expr) => {
        $crate::elementwise::rows::ComplexMap {
            of_c64: |x, y| $crate::elementwise::rows::map_narrow_to_real(x, y, $f),
            of_c128: |x, y| $crate::elementwise::rows::map_wide(x, y, $f),
        }
    };
}
pub(super) use real_map;

/// Returns a function of two complex numbers with complex results as a [`ComplexZip`].
macro_rules! complex_zip {
    ($f:expr) => {
        $crate::elementwise::rows::ComplexZip {
            of_c64: |x, y, z| $crate::elementwise::rows::zip_narrow(x, y, z, $f),
            of_c128: |x, y, z| $crate::elementwise::rows::zip_wide(x, y, z, $f),
        }
    };
}
pub(super) use complex_zip;

pub(super) fn map_narrow(x: &[u8], y: &mut [u8], f: impl Fn(Complex64) -> Complex64) {
    map(x, y, |z| narrow(f(widen(z))));
}

pub(super) fn map_narrow_to_real(x: &[u8], y: &mut [u8], f: impl Fn(Complex64) -> f64) {
    map(x, y, |z| f(widen(z)) as f32);
}

pub(super) fn map_wide<R: Pod>(x: &[u8], y: &mut [u8], f: impl Fn(Complex64) -> R) {
    map(x, y, f);
}

pub(super) fn zip_narrow(x: &[u8], y: &[u8], to: &mut [u8], f: impl Fn(Complex64, Complex64) -> Complex64) {
    zip(x, y, to, |a, b| narrow(f(widen(a), widen(b))));
}

pub(super) fn zip_wide(x: &[u8], y: &[u8], to: &mut [u8], f: impl Fn(Complex64, Complex64) -> Complex64) {
    zip(x, y, to, f);
}

fn map<A: Pod, R: Pod>(x: &[u8], y: &mut [u8], f: impl Fn(A) -> R) {
    let (x, y): (&[A], &mut [R]) = (bytemuck::cast_slice(x), bytemuck::cast_slice_mut(y));
    y.iter_mut().zip(x).for_each(|(y, &a)| *y = f(a));
}

pub(super) fn zip<A: Pod, R: Pod>(x: &[u8], y: &[u8], to: &mut [u8], f: impl Fn(A, A) -> R) {
    let (x, y, to): (&[A], &[A], &mut [R]) =
        (bytemuck::cast_slice(x), bytemuck::cast_slice(y), bytemuck::cast_slice_mut(to));
    to.iter_mut().zip(x.iter().zip(y)).for_each(|(z, (&a, &b))| *z = f(a, b));
}

/// The largest number of elements of a row that the reference evaluation computes at once.
const ROW: usize = 1 << 12;

/// Applies a function to each element of an array. The results have type `to`. The result for a splat is a splat.
pub(super) fn map_literal(x: &Literal, to: DType, f: Map) -> Literal {
    each_row(&[x], to, |x, y| f(x[0], y))
}

/// Applies a function to each pair of elements of two arrays of one shape. The results have type `to`. The result for
/// two splats is a splat.
pub(super) fn zip_literals(x: &Literal, y: &Literal, to: DType, f: Zip) -> Literal {
    each_row(&[x, y], to, |x, y| f(x[0], x[1], y))
}

fn each_row(x: &[&Literal], to: DType, f: impl Fn(&[&[u8]], &mut [u8])) -> Literal {
    let shape = x[0].shape();
    if x.iter().all(|x| x.is_splat()) {
        let mut element = Literal::dense_zeros(to, &[]).expect("one element is not too many");
        let given: Vec<&[u8]> = x.iter().map(|x| x.raw_bytes()).collect();
        f(&given, element.bytes_mut());
        return Literal::splat(to, shape, element.raw_bytes());
    }
    let (size, to_bytes) = (x[0].size(), to.storage_bytes());
    let repeated = |x: &&Literal| {
        let row = || Literal::splat(x.dtype(), vec![ROW.min(size)], x.raw_bytes()).to_dense();
        x.is_splat().then(row)
    };
    let splats: Vec<Option<Literal>> = x.iter().map(repeated).collect();
    let mut result = Literal::dense_zeros(to, shape).expect("the operands have as many elements");
    let mut meter = Meter::default();
    for (i, y) in result.bytes_mut().chunks_mut(ROW * to_bytes).enumerate() {
        let count = y.len() / to_bytes;
        let mut rows: Vec<&[u8]> = Vec::with_capacity(x.len());
        for (x, splat) in x.iter().zip(&splats) {
            let bytes = x.dtype().storage_bytes();
            rows.push(match splat {
                Some(splat) => &splat.raw_bytes()[..count * bytes],
                None => &x.raw_bytes()[i * ROW * bytes..][..count * bytes],
            });
        }
        f(&rows, y);
        meter.add(count as u64);
    }
    result
}

/// An elementwise op as a function of rows.
#[derive(Clone, Copy)]
pub enum Rows {
    Map(Map),
    Zip(Zip),
    /// A selection of elements of this many bytes, 8 or 16. The first operand is a scalar or has an element for each
    /// result.
    Select(usize),
    /// The exponential of complex numbers of this many bytes, 8 or 16.
    Exponential(usize),
}

impl Rows {
    /// Returns the function of an op, or `None` if the op or its types have none.
    ///
    /// # Panics
    /// If the first operand or the first result is not a tensor.
    pub fn of(op: &OpView<'_>) -> Option<Rows> {
        let from = op.operands().first().map(|_| op.operand_tensor(0).dtype)?;
        let to = op.results().first().map(|_| op.result_tensor(0).dtype)?;
        let opcode = Opcode::of_view(op);
        match opcode {
            Opcode::ChloNextAfter => return special::next_after_rows(from).map(Rows::Zip),
            Opcode::Complex => return make_complex(from).map(Rows::Zip),
            Opcode::Convert => return convert(from, to).map(Rows::Map),
            Opcode::Power if from.is_integer() => return integer_power(from).map(Rows::Zip),
            Opcode::Select if to.is_complex() => return Some(Rows::Select(to.storage_bytes())),
            _ if !from.is_complex() => return None,
            Opcode::Compare => return compare(Compare::direction(op)?, from).map(Rows::Zip),
            Opcode::Exponential => return Some(Rows::Exponential(to.storage_bytes())),
            _ => {}
        }
        if let Some(binary) = binary(opcode) {
            return Some(Rows::Zip(binary.of(from)));
        }
        Some(Rows::Map(unary::complex_map(opcode)?.of(from)))
    }

    /// Computes a row of results from the rows of the operands. Exponentials are inlined, so that a caller can compile
    /// them with the instructions of its machine, on which the result does not depend.
    ///
    /// # Panics
    /// May panic if there are fewer rows than operands, or if the length or the alignment of a row does not fit.
    #[inline(always)]
    pub fn run(self, x: &[&[u8]], y: &mut [u8]) {
        match self {
            Rows::Map(f) => f(x[0], y),
            Rows::Zip(f) => f(x[0], x[1], y),
            Rows::Select(8) => select::<u64>(x, y),
            Rows::Select(_) => select::<[u64; 2]>(x, y),
            Rows::Exponential(8) => exponentials(x[0], y, widen, narrow),
            Rows::Exponential(_) => exponentials(x[0], y, |z| z, |z| z),
        }
    }
}

/// Computes the exponentials of complex numbers of type `T`.
#[inline(always)]
fn exponentials<T: Pod>(x: &[u8], y: &mut [u8], widen: impl Fn(T) -> Complex64, narrow: impl Fn(Complex64) -> T) {
    const N: usize = 8;
    let (x, y): (&[T], &mut [T]) = (bytemuck::cast_slice(x), bytemuck::cast_slice_mut(y));
    for (x, y) in x.chunks(N).zip(y.chunks_mut(N)) {
        // The last number fills the rest of the array.
        let results = exps::<N>(array::from_fn(|i| widen(x[i.min(x.len() - 1)])));
        y.iter_mut().zip(results).for_each(|(y, result)| *y = narrow(result));
    }
}

fn select<T: Pod>(x: &[&[u8]], y: &mut [u8]) {
    let (on_true, on_false): (&[T], &[T]) = (bytemuck::cast_slice(x[1]), bytemuck::cast_slice(x[2]));
    let y: &mut [T] = bytemuck::cast_slice_mut(y);
    let step = usize::from(x[0].len() > 1);
    for (i, y) in y.iter_mut().enumerate() {
        *y = if x[0][i * step] != 0 { on_true[i] } else { on_false[i] };
    }
}

fn binary(op: Opcode) -> Option<ComplexZip> {
    match op {
        Opcode::Add => ADD.complex,
        Opcode::Atan2 => ATAN2.complex,
        Opcode::Divide => DIVIDE.complex,
        Opcode::Maximum => MAXIMUM.complex,
        Opcode::Minimum => MINIMUM.complex,
        Opcode::Multiply => MULTIPLY.complex,
        Opcode::Power => POWER.complex,
        Opcode::Subtract => SUBTRACT.complex,
        _ => None,
    }
}

fn make_complex(part: DType) -> Option<Zip> {
    match part {
        DType::F32 => Some(|x, y, z| zip(x, y, z, |re: f32, im: f32| Complex32::new(re, im))),
        DType::F64 => Some(|x, y, z| zip(x, y, z, |re: f64, im: f64| Complex64::new(re, im))),
        _ => None,
    }
}

/// Returns the power for a type of integers, or `None` for one with fewer than 8 bits.
fn integer_power(dtype: DType) -> Option<Zip> {
    macro_rules! by {
        ($T:ty, $f:ident) => {
            Some(|x, y, z| zip(x, y, z, |a: $T, b: $T| $f(a.into(), b.into()) as $T))
        };
    }
    match dtype {
        DType::I8 => by!(i8, power_signed),
        DType::I16 => by!(i16, power_signed),
        DType::I32 => by!(i32, power_signed),
        DType::I64 => by!(i64, power_signed),
        DType::U8 => by!(u8, power_unsigned),
        DType::U16 => by!(u16, power_unsigned),
        DType::U32 => by!(u32, power_unsigned),
        DType::U64 => by!(u64, power_unsigned),
        _ => None,
    }
}

/// Returns the comparison of complex numbers as pairs of numbers, in lexicographic order, or `None` if the direction is
/// none that is known.
fn compare(direction: &str, dtype: DType) -> Option<Zip> {
    /// Returns the comparison with this operator, for each of the two types.
    macro_rules! by {
        ($f:tt) => {
            ComplexZip {
                of_c64: |x, y, z| {
                    zip(x, y, z, |a: Complex32, b: Complex32| Bool8::from((a.re, a.im) $f (b.re, b.im)))
                },
                of_c128: |x, y, z| {
                    zip(x, y, z, |a: Complex64, b: Complex64| Bool8::from((a.re, a.im) $f (b.re, b.im)))
                },
            }
        };
    }
    let zip = match direction {
        "EQ" => by!(==),
        "NE" => by!(!=),
        "LT" => by!(<),
        "LE" => by!(<=),
        "GT" => by!(>),
        "GE" => by!(>=),
        _ => return None,
    };
    Some(zip.of(dtype))
}

/// Returns the conversion to a complex type from `i1`, `i32`, `i64`, `f32`, `f64` or a complex type, or from a complex
/// type to `f32` or `f64`. Returns `None` for other pairs of types.
fn convert(from: DType, to: DType) -> Option<Map> {
    fn to_complex<T: Numeric>() -> ComplexMap {
        ComplexMap {
            of_c64: |x, y| map(x, y, |x: T| Complex32::from_number(x.to_number())),
            of_c128: |x, y| map(x, y, |x: T| Complex64::from_number(x.to_number())),
        }
    }
    fn from_complex<T: Numeric>() -> ComplexMap {
        ComplexMap {
            of_c64: |x, y| map(x, y, |x: Complex32| T::from_number(x.to_number())),
            of_c128: |x, y| map(x, y, |x: Complex64| T::from_number(x.to_number())),
        }
    }
    if to.is_complex() {
        return Some(match from {
            DType::I1 => to_complex::<Bool8>().of(to),
            DType::I32 => to_complex::<i32>().of(to),
            DType::I64 => to_complex::<i64>().of(to),
            DType::F32 => to_complex::<f32>().of(to),
            DType::F64 => to_complex::<f64>().of(to),
            DType::C64 => to_complex::<Complex32>().of(to),
            DType::C128 => to_complex::<Complex64>().of(to),
            _ => return None,
        });
    }
    match to {
        _ if !from.is_complex() => None,
        DType::F32 => Some(from_complex::<f32>().of(from)),
        DType::F64 => Some(from_complex::<f64>().of(from)),
        _ => None,
    }
}
