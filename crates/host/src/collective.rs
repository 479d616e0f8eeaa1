//! Collectives over the buffers of instances.
//!
//! There are no devices that wait for each other. A reduction is one pass of the block machine over the buffers of all
//! instances that writes each result once. Gathers and all-to-alls are [`Move`]s that join blocks. A permutation passes
//! buffers on without copying.
//!
//! **Order.** Buffers are combined from the left, in the order of their position in the group: `((x0 + x1) + x2) + …`.
//! Sums and products of `bf16` and `f16` are computed in `f32` and rounded once, at the end.
//!
//! [`Move`]: crate::movement::Move
#![forbid(unsafe_code)]

use crate::block::{Binary, Kernel, Program, Reducer, Value};
use crate::elem::Elem;

/// The largest number of buffers that one pass combines.
pub const MAX_SOURCES: usize = 512;

/// Returns a kernel that combines `sources` buffers into one result: an all-reduce, or a reduce-scatter with the
/// strides of a slice. Complex numbers can only be summed. Returns `None` for another reducer of them or if only one of
/// the types is complex, if real element types have no such operation or conversion, if there is no source or more than
/// [`MAX_SOURCES`], or if the program cannot be compiled.
///
/// The sources have the first element type, and are converted to the second, that of the result, before they are
/// combined. `bf16` and `f16` are combined in `f32`. The kernel's operands are the sources in order, followed by the
/// result.
///
/// Shape:  sources `shape` with strides `from`, result `shape` with strides `to`, in elements
///
/// # Panics
/// Panics if `from` or `to` does not have one stride for each dimension of `shape`.
pub fn reduction(
    elems: [Elem; 2],
    reducer: Reducer,
    sources: usize,
    shape: &[usize],
    from: &[isize],
    to: &[isize],
) -> Option<Kernel> {
    if elems.iter().any(|e| e.is_complex()) {
        return complex_sum(elems, reducer, sources, shape, from, to);
    }
    if sources == 0 || sources > MAX_SOURCES {
        return None;
    }
    let mut p = Program::new(shape);
    if elems.iter().any(|e| e.is_wide()) {
        p = p.wide();
    }
    let [source, result] = elems;
    let inputs: Vec<Value> = (0..sources).map(|_| p.input(source, from)).collect();
    let mut parts = inputs.into_iter().map(|x| {
        let x = p.convert(x, result)?;
        p.convert(x, result.summed())
    });
    let mut total = parts.next()??;
    for part in parts.collect::<Option<Vec<_>>>()? {
        total = p.binary(function(reducer), total, part)?;
    }
    let result = p.convert(total, result)?;
    p.output(result, to);
    p.compile().ok()
}

fn function(reducer: Reducer) -> Binary {
    match reducer {
        Reducer::Sum => Binary::Add,
        Reducer::Product => Binary::Mul,
        Reducer::Max => Binary::Max,
        Reducer::Min => Binary::Min,
        Reducer::And => Binary::And,
        Reducer::Or => Binary::Or,
    }
}

/// Returns a kernel that sums complex numbers by summing their real and imaginary parts, as [`reduction`] does. Returns
/// `None` for any reducer other than the sum, if one of the types is not complex, or where [`reduction`] does for the
/// parts.
fn complex_sum(
    elems: [Elem; 2],
    reducer: Reducer,
    sources: usize,
    shape: &[usize],
    from: &[isize],
    to: &[isize],
) -> Option<Kernel> {
    if reducer != Reducer::Sum || !elems.iter().all(|e| e.is_complex()) {
        return None;
    }
    let parts = elems.map(|elem| if elem == Elem::C64 { Elem::F32 } else { Elem::F64 });
    let pairs = |strides: &[isize]| strides.iter().map(|s| 2 * s).chain([1]).collect::<Vec<isize>>();
    let shape: Vec<usize> = shape.iter().copied().chain([2]).collect();
    reduction(parts, reducer, sources, &shape, &pairs(from), &pairs(to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Operand;
    use crate::block::tests::Random;
    use crate::operand::{Source, Target};
    use crate::pool::Workers;
    use half::bf16;

    #[test]
    fn sums_are_taken_in_order_and_rounded_once() {
        let (n, sources) = (777, 8);
        let mut random = Random(21);
        let x: Vec<bf16> = (0..sources * n).map(|_| bf16::from_f32(random.next() as i32 as f32)).collect();
        let mut y = vec![bf16::ZERO; n];
        let kernel = reduction([Elem::BF16; 2], Reducer::Sum, sources, &[n], &[1], &[1]).unwrap();
        let mut operands: Vec<Operand> = x.chunks(n).map(Source::of).map(Operand::Read).collect();
        operands.push(Operand::Write(Target::of(&mut y)));
        kernel.run(&Workers::new(2), &operands, false);
        for i in 0..n {
            let sum = (1..sources).fold(x[i].to_f32(), |sum, s| sum + x[s * n + i].to_f32());
            assert_eq!(y[i].to_bits(), bf16::from_f32(sum).to_bits());
        }
    }

    #[test]
    fn many_sources_and_all_types_reduce() {
        let x: Vec<u8> = (0..300).map(|i| i as u8).collect();
        let mut y = [0u8; 1];
        let kernel = reduction([Elem::U8; 2], Reducer::Sum, 300, &[1], &[1], &[1]).unwrap();
        let mut operands: Vec<Operand> = x.chunks(1).map(Source::of).map(Operand::Read).collect();
        operands.push(Operand::Write(Target::of(&mut y)));
        kernel.run(&Workers::new(1), &operands, false);
        assert_eq!(u32::from(y[0]), (0..300u32).map(|i| i % 256).sum::<u32>() % 256);
        assert!(reduction([Elem::C64; 2], Reducer::Sum, 2, &[5], &[1], &[1]).is_some());
        assert!(reduction([Elem::C64; 2], Reducer::Max, 2, &[5], &[1], &[1]).is_none());
        assert!(reduction([Elem::I64; 2], Reducer::Or, 3, &[5], &[1], &[1]).is_some());
        assert!(reduction([Elem::Bool; 2], Reducer::Or, 3, &[5], &[1], &[1]).is_some());
    }

    #[test]
    fn a_slice_of_the_sum_is_scattered() {
        // The array is [2, 6] on each of two sources; shard 1 of dimension 1 is [2, 3].
        let x: Vec<f32> = (0..24).map(|i| i as f32).collect();
        let mut y = [0.0f32; 6];
        let kernel = reduction([Elem::F32; 2], Reducer::Sum, 2, &[2, 3], &[6, 1], &[3, 1]).unwrap();
        let read = |x| Operand::Read(Source::of(x));
        let operands = [read(&x[3..]), read(&x[15..]), Operand::Write(Target::of(&mut y))];
        kernel.run(&Workers::new(1), &operands, false);
        assert_eq!(y, [18.0, 20.0, 22.0, 30.0, 32.0, 34.0]);
    }

    #[test]
    fn a_reduction_combines_all_sources() {
        let (a, b, mut sum) = ([1i32, 2, 3], [10i32, 20, 30], [0i32; 3]);
        let kernel = reduction([Elem::I32; 2], Reducer::Sum, 2, &[3], &[1], &[1]).unwrap();
        let read = |x| Operand::Read(Source::of(x));
        kernel.run(Workers::global(), &[read(&a), read(&b), Operand::Write(Target::of(&mut sum))], false);
        assert_eq!(sum, [11, 22, 33]);
    }
}
