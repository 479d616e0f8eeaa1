//! The elements of a generated operand.

use crate::choose::Chooser;
use shardwise_base::{DType, DTypeKind, Literal, bf16, f16};
use shardwise_ir::TensorType;

/// The set from which the elements of an operand are drawn. Both parts of a complex number are drawn from it, unless
/// whole literals are made (`Exact`, `Gram` and `Solvable`).
///
/// An integer that does not fit an integer type wraps around. For floats of at most 8 bits, the fills other than `Any`
/// stand for other numbers: for the elements whose bits are the low two bits of the integer part of the number that was
/// drawn.
#[derive(Clone, Debug)]
pub enum Fill {
    /// All values of the type. For integers, and for floats of more than 8 bits, small numbers, the ends of the range
    /// and special numbers are more likely.
    Any,
    /// Integers from -4 to 4, or from 0 to 4 for unsigned types. For booleans, 1 to 4 are true.
    Small,
    /// Integers as for `Small`, without 0.
    NonZero,
    /// Numbers between these bounds, both included: in eighths for floats and the parts of complex numbers, and
    /// integers otherwise. For unsigned types and booleans, a lower bound below 0 is 0.
    Between(i64, i64),
    /// Integers between these bounds, both included. For unsigned types and booleans, a lower bound below 0 is 0.
    Ints(i64, i64),
    /// These integers, one for each element. The imaginary parts of complex numbers are 0.
    Exact(Vec<i64>),
    /// Matrices `L * transpose(L)` with a small triangular `L`, whose Cholesky decompositions are exact.
    Gram,
    /// Matrices with exact solutions: powers of two on the diagonal, and small integers beside it.
    Solvable,
}

impl Fill {
    pub fn literal(&self, choose: &mut Chooser, ty: &TensorType) -> Literal {
        let (count, dtype) = (ty.size(), ty.dtype);
        let bytes: Vec<u8> = match self {
            Fill::Exact(values) => values.iter().flat_map(|&v| number(dtype, v as f64)).collect(),
            Fill::Gram => matrices(ty, |n| gram(choose, n)),
            Fill::Solvable => matrices(ty, |n| solvable(choose, n)),
            _ => (0..count).flat_map(|_| self.element(choose, dtype)).collect(),
        };
        Literal::from_bytes(dtype, &ty.shape, &bytes).expect("an element for each place")
    }

    fn element(&self, choose: &mut Chooser, dtype: DType) -> Vec<u8> {
        if dtype.is_complex() {
            let part = |choose: &mut Chooser| self.element(choose, dtype.real());
            return [part(choose), part(choose)].concat();
        }
        let has_sign = !matches!(dtype.kind(), DTypeKind::Unsigned | DTypeKind::Bool);
        let low = |n: i64| if has_sign { n } else { n.max(0) };
        let is_float = dtype.is_float();
        match *self {
            Fill::Any => any(choose, dtype),
            Fill::Small => number(dtype, choose.between(low(-4), 4) as f64),
            Fill::NonZero => {
                let n = choose.between(1, 4);
                number(dtype, if has_sign && choose.one_in(2) { -n } else { n } as f64)
            }
            Fill::Between(from, to) if is_float => number(dtype, choose.between(from * 8, to * 8) as f64 / 8.0),
            Fill::Between(from, to) | Fill::Ints(from, to) => number(dtype, choose.between(low(from), to) as f64),
            Fill::Exact(_) | Fill::Gram | Fill::Solvable => unreachable!("made as a whole"),
        }
    }
}

/// Returns the bytes of a random element of a type that is not complex, as for [`Fill::Any`]. Floats of at most 8 bits
/// are drawn by their bits.
fn any(choose: &mut Chooser, dtype: DType) -> Vec<u8> {
    let bits = dtype.bits() as u32;
    match dtype.kind() {
        DTypeKind::Bool => number(dtype, choose.between(0, 1) as f64),
        DTypeKind::Float if !dtype.is_computed() => vec![(choose.bits() & ((1 << bits) - 1)) as u8],
        DTypeKind::Float => match choose.below(8) {
            0..=2 => number(dtype, choose.between(-4, 4) as f64),
            3..=4 => number(dtype, choose.between(-64, 64) as f64 / 8.0),
            5 => number(dtype, choose.between(-1000, 1000) as f64 / 7.0),
            6 => word(dtype, choose.bits()),
            _ => special(choose, dtype),
        },
        _ => match choose.below(3) {
            0 => number(dtype, choose.between(0, 4) as f64),
            1 => word(dtype, choose.bits()),
            _ => {
                let edges = [0, 1, u64::MAX, 1 << (bits - 1), (1 << (bits - 1)) - 1];
                word(dtype, *choose.of(&edges))
            }
        },
    }
}

fn special(choose: &mut Chooser, dtype: DType) -> Vec<u8> {
    let (infinity, largest, smallest) = match dtype {
        DType::F16 => (0x7C00, 0x7BFF, 0x0400),
        DType::BF16 => (0x7F80, 0x7F7F, 0x0080),
        DType::F32 => (0x7F80_0000, 0x7F7F_FFFF, 0x0080_0000),
        _ => (0x7FF0_0000_0000_0000, 0x7FEF_FFFF_FFFF_FFFF, 0x0010_0000_0000_0000),
    };
    let sign = 1u64 << (dtype.bits() - 1);
    let bits = *choose.of(&[0, infinity, infinity + 1, largest, smallest, 1, smallest - 1]);
    word(dtype, bits | if choose.one_in(2) { sign } else { 0 })
}

/// Returns the bytes of the element whose bits are the low bits of a word. Signed integers of less than a byte are
/// sign-extended.
fn word(dtype: DType, bits: u64) -> Vec<u8> {
    let unused = 64 - dtype.bits() as u32;
    let value = if dtype.is_signed() { ((bits << unused) as i64 >> unused) as u64 } else { bits << unused >> unused };
    value.to_le_bytes()[..dtype.storage_bytes()].to_vec()
}

/// Returns the bytes of the element with this value, which is rounded or wraps around if the type cannot represent it.
/// A boolean is true if `value` is positive, and a complex number has the imaginary part 0. Floats of at most 8 bits
/// have another value: their bits are the low two bits of the integer part of `value`.
fn number(dtype: DType, value: f64) -> Vec<u8> {
    match dtype {
        DType::I1 => vec![u8::from(value > 0.0)],
        DType::F64 => value.to_le_bytes().to_vec(),
        DType::F32 => (value as f32).to_le_bytes().to_vec(),
        DType::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f64(value).to_le_bytes().to_vec(),
        DType::C64 | DType::C128 => [number(dtype.real(), value), number(dtype.real(), 0.0)].concat(),
        _ if dtype.is_float() => vec![(value as i64 & 3) as u8],
        _ => word(dtype, value as i64 as u64),
    }
}

fn matrices(ty: &TensorType, mut make: impl FnMut(usize) -> Vec<i64>) -> Vec<u8> {
    let n = ty.shape[ty.rank() - 1];
    let count = ty.shape[..ty.rank() - 2].iter().product::<usize>();
    (0..count).flat_map(|_| make(n)).flat_map(|v| number(ty.dtype, v as f64)).collect()
}

/// Returns a row-major matrix of `n` rows: 1 or 2 on the diagonal, and integers from -1 to 1 below it, or on both sides
/// if `both` is true.
fn triangle(choose: &mut Chooser, n: usize, both: bool) -> Vec<i64> {
    let mut out = vec![0; n * n];
    for i in 0..n {
        for j in 0..n {
            out[i * n + j] = match i == j {
                true => 1 << choose.below(2),
                false if j < i || both => choose.between(-1, 1),
                false => 0,
            };
        }
    }
    out
}

fn gram(choose: &mut Chooser, n: usize) -> Vec<i64> {
    let l = triangle(choose, n, false);
    let at = |i: usize, j: usize| (0..n).map(|k| l[i * n + k] * l[j * n + k]).sum();
    (0..n * n).map(|p| at(p / n, p % n)).collect()
}

fn solvable(choose: &mut Chooser, n: usize) -> Vec<i64> {
    triangle(choose, n, true)
}
