//! Makes inputs from a seed.

use shardwise_base::threefry::Stream;
use shardwise_base::{DType, DTypeKind, Literal, LiteralWriter, bf16, f16};
use shardwise_ir::TensorType;

/// Returns an array for each type. Floats of at least 16 bits and both parts of complex numbers are multiples of 1/8
/// between -2 and 2, so that small sums of them are exact in any order. Integers are between 0 and 7, so that they can
/// also be indices, or between 0 and 1 in types of two bits. Booleans are random. Floats of at most 8 bits have
/// integers between 0 and 7 as their bits.
pub fn inputs(seed: u64, types: &[TensorType]) -> Vec<Literal> {
    types.iter().enumerate().map(|(i, ty)| input(&mut Stream::new(seed, i as u64), ty)).collect()
}

fn input(stream: &mut Stream, ty: &TensorType) -> Literal {
    let mut out = LiteralWriter::new(ty.dtype, &ty.shape);
    for _ in 0..ty.size() {
        let (bytes, width) = element(stream.next_u32(), ty.dtype);
        out.push(&bytes[..width]);
    }
    out.finish()
}

/// Returns the bytes of an element that is made from random bits, and their number. [`inputs`] says which elements.
fn element(bits: u32, dtype: DType) -> ([u8; 16], usize) {
    let eighths = |bits: u32| f64::from(bits % 33) / 8.0 - 2.0;
    let (re, im) = (eighths(bits), eighths(bits >> 8));
    let mut out = [0; 16];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    match dtype {
        DType::BF16 => put(0, &bf16::from_f64(re).to_le_bytes()),
        DType::F16 => put(0, &f16::from_f64(re).to_le_bytes()),
        DType::F32 | DType::C64 => {
            put(0, &(re as f32).to_le_bytes());
            put(4, &(im as f32).to_le_bytes());
        }
        DType::F64 | DType::C128 => {
            put(0, &re.to_le_bytes());
            put(8, &im.to_le_bytes());
        }
        other => {
            let modulus = if other.kind() == DTypeKind::Bool { 2 } else { 8u32.min(1 << (other.bits() - 1).min(3)) };
            put(0, &u64::from(bits % modulus).to_le_bytes());
        }
    }
    (out, dtype.storage_bytes())
}
