//! Strided copies of elements of any type: slices, transposes, reversals and others are such copies.

use shardwise_base::Literal;
use shardwise_base::budget::Meter;

/// The positions of the elements of a block in a buffer, counted in elements. The first is at `base`, and neighbours
/// along dimension `d` are `strides[d]` apart.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub base: isize,
    pub strides: Vec<isize>,
}

pub(crate) fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d] * shape[d] as isize;
    }
    strides
}

impl Layout {
    /// Returns the layout of a whole row-major array.
    pub fn whole(shape: &[usize]) -> Layout {
        Layout { base: 0, strides: row_major(shape) }
    }

    /// Returns the layout of the block of a row-major array of this shape that starts at the index `start` and takes
    /// every `step[d]`th element along each dimension `d`.
    pub fn block(shape: &[usize], start: &[usize], step: &[usize]) -> Layout {
        let all = row_major(shape);
        let base = all.iter().zip(start).map(|(s, &i)| s * i as isize).sum();
        // A dimension of which one element is taken may have any step.
        Layout { base, strides: all.iter().zip(step).map(|(s, &k)| s.wrapping_mul(k as isize)).collect() }
    }
}

pub(crate) fn gather(x: &Literal, from: &Layout, shape: &[usize]) -> Literal {
    if x.is_splat() {
        return Literal::splat(x.dtype(), shape, x.raw_bytes());
    }
    let mut out = Literal::zeros(x.dtype(), shape);
    copy(x, from, &mut out, &Layout::whole(shape), shape);
    out
}

/// Copies a block of `shape` from `x`, read with the layout `from`, into `out`, written with the layout `to`. If `x` is
/// a splat, `from` does not count. Panics if the element types differ, or if a position is outside of an array.
pub(crate) fn copy(x: &Literal, from: &Layout, out: &mut Literal, to: &Layout, shape: &[usize]) {
    assert_eq!(x.dtype(), out.dtype(), "element type");
    if shape.contains(&0) {
        return;
    }
    let zeroed = Layout { base: 0, strides: vec![0; shape.len()] };
    let from = if x.is_splat() { &zeroed } else { from };
    let (source, target) = (x.raw_bytes(), out.bytes_mut());
    match x.dtype().storage_bytes() {
        1 => copy_as::<u8>(source, from, target, to, shape),
        2 => copy_as::<u16>(source, from, target, to, shape),
        4 => copy_as::<u32>(source, from, target, to, shape),
        8 => copy_as::<u64>(source, from, target, to, shape),
        _ => copy_as::<[u64; 2]>(source, from, target, to, shape),
    }
}

fn copy_as<T: bytemuck::Pod>(source: &[u8], from: &Layout, target: &mut [u8], to: &Layout, shape: &[usize]) {
    let (source, target): (&[T], &mut [T]) = (bytemuck::cast_slice(source), bytemuck::cast_slice_mut(target));
    let Some((&row, outer)) = shape.split_last() else {
        target[to.base as usize] = source[from.base as usize];
        return;
    };
    let (s, t) = (from.strides[outer.len()], to.strides[outer.len()]);
    for_each_row(outer, row, from, to, |a, b| copy_row(source, a, s, target, b, t, row));
}

fn copy_row<T: Copy>(source: &[T], a: isize, s: isize, target: &mut [T], b: isize, t: isize, row: usize) {
    if s == 1 && t == 1 {
        target[b as usize..][..row].copy_from_slice(&source[a as usize..][..row]);
    } else if s == 0 && t == 1 {
        target[b as usize..][..row].fill(source[a as usize]);
    } else {
        for i in 0..row as isize {
            target[(b + i * t) as usize] = source[(a + i * s) as usize];
        }
    }
}

/// Calls `f` for each row of `row` elements, in row-major order of the outer dimensions, with the positions of the
/// first element of the row in `from` and in `to`. `outer` are the sizes of the outer dimensions, none of which may be
/// 0.
fn for_each_row(outer: &[usize], row: usize, from: &Layout, to: &Layout, mut f: impl FnMut(isize, isize)) {
    let mut index = vec![0; outer.len()];
    let (mut a, mut b) = (from.base, to.base);
    let mut meter = Meter::default();
    loop {
        f(a, b);
        meter.add(row as u64);
        let Some(d) = (0..outer.len()).rev().find(|&d| index[d] + 1 < outer[d]) else { return };
        for (later, i) in index.iter_mut().enumerate().skip(d + 1) {
            a -= from.strides[later] * *i as isize;
            b -= to.strides[later] * *i as isize;
            *i = 0;
        }
        (a, b) = (a + from.strides[d], b + to.strides[d]);
        index[d] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gather_transposes_and_reverses() {
        let x = Literal::new([2, 3], &[1i32, 2, 3, 4, 5, 6]);
        let transposed = gather(&x, &Layout { base: 0, strides: vec![1, 3] }, &[3, 2]);
        assert_eq!(transposed, Literal::new([3, 2], &[1i32, 4, 2, 5, 3, 6]));
        let reversed = gather(&x, &Layout { base: 5, strides: vec![-3, -1] }, &[2, 3]);
        assert_eq!(reversed, Literal::new([2, 3], &[6i32, 5, 4, 3, 2, 1]));
    }

    #[test]
    fn scalars_and_empty_blocks() {
        let x = Literal::scalar(7u8);
        assert_eq!(gather(&x, &Layout::whole(&[]), &[]), x);
        assert_eq!(gather(&x, &Layout { base: 0, strides: vec![0, 0] }, &[0, 3]).size(), 0);
    }
}
