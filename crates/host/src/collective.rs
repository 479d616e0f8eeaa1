//! Collectives over the buffers of instances.
//!
//! There are no devices that wait for each other. A reduction is one pass of the block machine over all instances' buffers
//! that writes each result once; a gather writes one buffer that all who hold it share; an all-to-all is a [`Move`] for each
//! pair; a permutation hands pointers over and has no code.
//!
//! **Order.** Buffers are combined from the left, in order of their place in the group: `((x0 + x1) + x2) + …`. `bf16` and
//! `f16` sums and products are computed in `f32` and rounded once, at the end.
//!
//! ```
//! use shardwise_host::block::{Pointer, Reducer};
//! use shardwise_host::collective::reduction;
//! use shardwise_host::{elem::Elem, pool::Workers};
//! let (a, b, mut sum) = ([1i32, 2, 3], [10i32, 20, 30], [0i32; 3]);
//! let kernel = reduction(Elem::I32, Reducer::Sum, 2, &[3], &[1], &[1]).unwrap();
//! let at = |p: *const i32| Pointer(p.cast_mut().cast());
//! // SAFETY: three arrays of three.
//! unsafe { kernel.run(Workers::global(), &[at(a.as_ptr()), at(b.as_ptr()), at(sum.as_mut_ptr())], false) };
//! assert_eq!(sum, [11, 22, 33]);
//! ```
//!
//! [`Move`]: crate::movement::Move

use crate::block::{Binary, Kernel, Pointer, Program, Reducer, Value};
use crate::elem::Elem;
use crate::movement::Move;
use crate::pool::Workers;

/// The most buffers that one pass combines.
pub const MAX_SOURCES: usize = 512;

/// A kernel that combines `sources` buffers into one result: all-reduce, and reduce-scatter with the strides of a slice.
///
/// Its pointers are the sources in order, then the result. `None` if the type has no such operation.
///
/// Shape:  sources `shape` with strides `from`, result `shape` with strides `to`, in elements
pub fn reduction(
    elem: Elem,
    reducer: Reducer,
    sources: usize,
    shape: &[usize],
    from: &[isize],
    to: &[isize],
) -> Option<Kernel> {
    if elem.is_complex() {
        return complex_sum(elem, reducer, sources, shape, from, to);
    }
    if sources == 0 || sources > MAX_SOURCES {
        return None;
    }
    let mut p = Program::new(shape);
    if elem.is_wide() {
        p = p.wide();
    }
    let accumulator = if matches!(elem, Elem::BF16 | Elem::F16) { Elem::F32 } else { elem };
    let inputs: Vec<Value> = (0..sources).map(|_| p.input(elem, from)).collect();
    let mut total = p.convert(inputs[0], accumulator)?;
    for &input in &inputs[1..] {
        let next = p.convert(input, accumulator)?;
        total = p.binary(function(reducer), total, next)?;
    }
    let result = p.convert(total, elem)?;
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
        Reducer::Xor => Binary::Xor,
    }
}

/// Sums of pairs are sums of their parts.
fn complex_sum(
    elem: Elem,
    reducer: Reducer,
    sources: usize,
    shape: &[usize],
    from: &[isize],
    to: &[isize],
) -> Option<Kernel> {
    if reducer != Reducer::Sum {
        return None;
    }
    let part = if elem == Elem::C64 { Elem::F32 } else { Elem::F64 };
    let pairs = |strides: &[isize]| strides.iter().map(|s| 2 * s).chain([1]).collect::<Vec<isize>>();
    let shape: Vec<usize> = shape.iter().copied().chain([2]).collect();
    reduction(part, reducer, sources, &shape, &pairs(from), &pairs(to))
}

/// Joins the sources' blocks into one buffer that all members of the group share.
///
/// Shape:  sources `[outer, block]`, result `[outer, sources * block]`, the block in bytes
///
/// # Safety
/// The sources must be readable and the result writable for these shapes.
pub unsafe fn all_gather(workers: &Workers, sources: &[Pointer], to: Pointer, outer: usize, block_bytes: usize) {
    let (block, row) = (block_bytes as isize, (sources.len() * block_bytes) as isize);
    let blocks = Move::new(1, &[outer, block_bytes], &[block, 1], &[row, 1]);
    let place = |(i, &source): (usize, &Pointer)| (source, to.offset((i * block_bytes) as isize));
    let pairs: Vec<(Pointer, Pointer)> = sources.iter().enumerate().map(place).collect();
    // SAFETY: as the caller says.
    unsafe { blocks.run(workers, &pairs) }
}

/// Each result takes its block of every source: result `j` has, at place `i`, block `j` of source `i`.
///
/// A block is `shape` elements of `size` bytes. Blocks of a source are `from_step` elements apart and have strides `from`;
/// places of a result are `to_step` apart and have strides `to`.
///
/// # Safety
/// The sources must be readable and the results writable for these shapes.
pub unsafe fn all_to_all(
    workers: &Workers,
    sources: &[Pointer],
    results: &[Pointer],
    size: usize,
    shape: &[usize],
    (from, from_step): (&[isize], isize),
    (to, to_step): (&[isize], isize),
) {
    let at = |p: Pointer, i: usize, step: isize| p.offset(i as isize * step * size as isize);
    let pair = |(i, j): (usize, usize)| (at(sources[i], j, from_step), at(results[j], i, to_step));
    let all = (0..results.len()).flat_map(|j| (0..sources.len()).map(move |i| (i, j)));
    let pairs: Vec<(Pointer, Pointer)> = all.map(pair).collect();
    // SAFETY: as the caller says.
    unsafe { Move::new(size, shape, from, to).run(workers, &pairs) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::Random;
    use half::bf16;

    fn pointer<T>(x: &[T]) -> Pointer {
        Pointer(x.as_ptr().cast_mut().cast())
    }

    fn pointer_mut<T>(x: &mut [T]) -> Pointer {
        Pointer(x.as_mut_ptr().cast())
    }

    #[test]
    fn sums_are_taken_in_order_and_rounded_once() {
        let (n, sources) = (777, 8);
        let mut random = Random(21);
        let x: Vec<bf16> = (0..sources * n).map(|_| bf16::from_f32(random.next() as i32 as f32)).collect();
        let mut y = vec![bf16::ZERO; n];
        let kernel = reduction(Elem::BF16, Reducer::Sum, sources, &[n], &[1], &[1]).unwrap();
        let mut pointers: Vec<Pointer> = x.chunks(n).map(pointer).collect();
        pointers.push(pointer_mut(&mut y));
        // SAFETY: all have `n` elements.
        unsafe { kernel.run(&Workers::new(2), &pointers, false) };
        for i in 0..n {
            let sum = (1..sources).fold(x[i].to_f32(), |sum, s| sum + x[s * n + i].to_f32());
            assert_eq!(y[i].to_bits(), bf16::from_f32(sum).to_bits());
        }
    }

    #[test]
    fn many_sources_and_all_types_reduce() {
        let x: Vec<u8> = (0..300).map(|i| i as u8).collect();
        let mut y = [0u8; 1];
        let kernel = reduction(Elem::U8, Reducer::Sum, 300, &[1], &[1], &[1]).unwrap();
        let mut pointers: Vec<Pointer> = x.chunks(1).map(pointer).collect();
        pointers.push(pointer_mut(&mut y));
        // SAFETY: each has one element.
        unsafe { kernel.run(&Workers::new(1), &pointers, false) };
        assert_eq!(u32::from(y[0]), (0..300u32).map(|i| i % 256).sum::<u32>() % 256);
        assert!(reduction(Elem::C64, Reducer::Sum, 2, &[5], &[1], &[1]).is_some());
        assert!(reduction(Elem::C64, Reducer::Max, 2, &[5], &[1], &[1]).is_none());
        assert!(reduction(Elem::I64, Reducer::Xor, 3, &[5], &[1], &[1]).is_some());
        assert!(reduction(Elem::Bool, Reducer::Or, 3, &[5], &[1], &[1]).is_some());
    }

    #[test]
    fn a_slice_of_the_sum_is_scattered() {
        // [2, 6] over two sources; shard 1 of dimension 1 is [2, 3].
        let x: Vec<f32> = (0..24).map(|i| i as f32).collect();
        let mut y = [0.0f32; 6];
        let kernel = reduction(Elem::F32, Reducer::Sum, 2, &[2, 3], &[6, 1], &[3, 1]).unwrap();
        let pointers = [pointer(&x[3..]), pointer(&x[15..]), pointer_mut(&mut y)];
        // SAFETY: the slices are within the sources.
        unsafe { kernel.run(&Workers::new(1), &pointers, false) };
        assert_eq!(y, [18.0, 20.0, 22.0, 30.0, 32.0, 34.0]);
    }

    #[test]
    fn blocks_are_gathered_and_exchanged() {
        let x: Vec<u16> = (0..24).collect();
        let sources: Vec<Pointer> = x.chunks(8).map(pointer).collect();
        let mut all = vec![0u16; 24];
        // Three sources [2, 4] joined along dimension 1.
        // SAFETY: the shapes are those of the arrays.
        unsafe { all_gather(&Workers::new(2), &sources, pointer_mut(&mut all), 2, 8) };
        assert!((0..24).all(|i| all[i] == x[i % 12 / 4 * 8 + i / 12 * 4 + i % 4]));

        // Two sources [2, 4]: split along dimension 1, joined along dimension 0, give two results [4, 2].
        let mut y = [0u16; 16];
        let (first, second) = y.split_at_mut(8);
        let results = [pointer_mut(first), pointer_mut(second)];
        // SAFETY: as above.
        unsafe { all_to_all(&Workers::new(2), &sources[..2], &results, 2, &[2, 2], (&[4, 1], 2), (&[2, 1], 4)) };
        assert_eq!(y, [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]);
    }
}
