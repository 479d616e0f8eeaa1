//! Inputs from a seed.

use shardwise_base::threefry::Stream;
use shardwise_base::{DType, Kind, Literal, bf16, f16};
use shardwise_ir::TensorType;

/// One array for each type: floats are multiples of 1/8 between -2 and 2, whose sums are exact in any order; integers lie
/// between 0 and 7, so that they do as indices too.
pub fn inputs(seed: u64, types: &[TensorType]) -> Vec<Literal> {
    types.iter().enumerate().map(|(i, ty)| input(&mut Stream::new(seed, i as u64), ty)).collect()
}

fn input(stream: &mut Stream, ty: &TensorType) -> Literal {
    let mut bytes = Vec::with_capacity(ty.bytes() as usize);
    for _ in 0..ty.size() {
        element(stream.next_u32(), ty.dtype, &mut bytes);
    }
    Literal::from_bytes(ty.dtype, &ty.shape, &bytes).expect("one element for each position")
}

fn element(bits: u32, dtype: DType, out: &mut Vec<u8>) {
    let eighths = |bits: u32| f64::from(bits % 33) / 8.0 - 2.0;
    let x = eighths(bits);
    match dtype {
        DType::BF16 => out.extend(bf16::from_f64(x).to_le_bytes()),
        DType::F16 => out.extend(f16::from_f64(x).to_le_bytes()),
        DType::F32 => out.extend((x as f32).to_le_bytes()),
        DType::F64 => out.extend(x.to_le_bytes()),
        DType::C64 => [x, eighths(bits >> 8)].iter().for_each(|&x| out.extend((x as f32).to_le_bytes())),
        DType::C128 => [x, eighths(bits >> 8)].iter().for_each(|x| out.extend(x.to_le_bytes())),
        other => {
            let modulus = if other.kind() == Kind::Bool { 2 } else { 8u32.min(1 << (other.bits() - 1).min(3)) };
            let value = u64::from(bits % modulus);
            out.extend(&value.to_le_bytes()[..other.storage_bytes()]);
        }
    }
}
