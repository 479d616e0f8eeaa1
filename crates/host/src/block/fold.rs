//! Folds of short rows, and of few lanes along leading dimensions. The lanes of the vectors are results.
//!
//! A short row has little work for vectors along it, so several rows are folded to a few partial results each, which
//! are then folded together. The order is that of `shardwise_mathfn::order`, without combinations with the identity,
//! which change nothing.
#![expect(unsafe_code, reason = "folds follow addresses")]

use crate::simd::{Vector, Word};
use shardwise_mathfn::order::{CHUNK, LANES_32, LANES_64};

/// The most lanes of a vector.
const LANES: usize = 16;

/// Words to be folded. Distances are in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    /// The address of the first word.
    pub from: *const u8,
    /// The address of the results, which are contiguous words.
    pub to: *mut u8,
    pub count: usize,
    /// The distance between the first words from which two successive ones of the `count` results, or rows of results,
    /// are folded.
    pub step: isize,
    pub along: Along,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Along {
    /// Each result is that of a row of this number of contiguous words, which is at least 2.
    Row(usize),
    /// `count` times, `rows` rows of `lanes` contiguous words are folded to a row of results. The rows are `step` bytes
    /// apart. If `goes_on` is true, the results in place come first. There is at least one row.
    Rows { rows: usize, step: isize, lanes: usize, goes_on: bool },
}

impl Fold {
    /// Folds with an operation on vectors and the same on words.
    ///
    /// # Safety
    /// The words must be readable and the results writable. The rows of one result must be in one memory that is
    /// readable from the first word to the last. The machine must have the instructions of `V`.
    #[inline(always)]
    pub unsafe fn run<V: Vector>(&self, many: impl Fn(V, V) -> V, one: impl Fn(V::Word, V::Word) -> V::Word) {
        // SAFETY: as the caller says.
        unsafe {
            match self.along {
                Along::Row(len) => self.rows::<V>(len, many, one),
                Along::Rows { rows, step, lanes, goes_on } => {
                    for i in 0..self.count {
                        let from = self.from.wrapping_offset(i as isize * self.step);
                        let to = self.to.wrapping_add(i * lanes * V::Word::SIZE);
                        columns::<V>(from, to, (rows, step, lanes), goes_on, &many);
                    }
                }
            }
        }
    }

    /// Folds rows of `len` words, several of them at a time.
    ///
    /// # Safety
    /// The conditions of [`Fold::run`] must hold.
    #[inline(always)]
    unsafe fn rows<V: Vector>(&self, len: usize, many: impl Fn(V, V) -> V, one: impl Fn(V::Word, V::Word) -> V::Word) {
        let zero = V::Word::from_bits64(0);
        // For each partial result, that of each row of a group.
        let mut partials = [[zero; LANES]; LANES];
        let mut own = [zero; LANES_32];
        let lanes = if V::Word::SIZE == 8 { LANES_64 } else { LANES_32 };
        for first in (0..self.count).step_by(V::LANES) {
            let group = V::LANES.min(self.count - first);
            let mut live = len;
            for row in 0..group {
                let words = self.from.wrapping_offset((first + row) as isize * self.step);
                // SAFETY: as the caller says.
                unsafe {
                    if len <= V::LANES {
                        let mut p = words;
                        for partial in &mut partials[..len] {
                            partial[row] = V::Word::load(p);
                            p = p.wrapping_add(V::Word::SIZE);
                        }
                    } else {
                        live = fold_row::<V>(words, len, lanes, &mut own, &many, &one);
                        partials.iter_mut().zip(&own[..live]).for_each(|(partial, w)| partial[row] = *w);
                    }
                }
            }
            while live > 1 {
                let half = live.next_power_of_two() / 2;
                for i in half..live {
                    let folded = many(V::read(&partials[i - half]), V::read(&partials[i]));
                    folded.write(&mut partials[i - half]);
                }
                live = half;
            }
            let to = self.to.wrapping_add(first * V::Word::SIZE);
            // SAFETY: as the caller says.
            unsafe { std::ptr::copy_nonoverlapping(partials[0].as_ptr().cast(), to, group * V::Word::SIZE) }
        }
    }
}

/// Folds a row of `len` words, which is longer than a vector, to [`Vector::LANES`] partial results or fewer in `own`,
/// and returns their number. `lanes` is the number of partial results that the order states.
///
/// # Safety
/// The words must be readable.
#[inline(always)]
unsafe fn fold_row<V: Vector>(
    words: *const u8,
    len: usize,
    lanes: usize,
    own: &mut [V::Word; LANES_32],
    many: &impl Fn(V, V) -> V,
    one: &impl Fn(V::Word, V::Word) -> V::Word,
) -> usize {
    let size = V::Word::SIZE;
    let own: *mut u8 = own.as_mut_ptr().cast();
    let mut live = len.min(lanes);
    let mut from = words;
    // SAFETY: as the caller says; `own` has `lanes` words.
    unsafe {
        for start in (lanes..len).step_by(lanes) {
            let count = lanes.min(len - start);
            if start == lanes && count < lanes {
                std::ptr::copy_nonoverlapping(words, own, lanes * size);
                from = own;
            }
            join::<V>(from, words.wrapping_add(start * size), own, count, many, one);
            from = own;
        }
        while live > V::LANES {
            let half = live.next_power_of_two() / 2;
            let count = live - half;
            if from != own {
                let rest = (half - count) * size;
                std::ptr::copy_nonoverlapping(from.add(count * size), own.add(count * size), rest);
            }
            join::<V>(from, from.wrapping_add(half * size), own, count, many, one);
            (live, from) = (half, own);
        }
    }
    live
}

/// Combines each of `count` words at `a` with that at `b` and writes the results to `to`, which may be `a`.
///
/// # Safety
/// The words must be readable and the results writable.
#[inline(always)]
unsafe fn join<V: Vector>(
    a: *const u8,
    b: *const u8,
    to: *mut u8,
    count: usize,
    many: &impl Fn(V, V) -> V,
    one: &impl Fn(V::Word, V::Word) -> V::Word,
) {
    let size = V::Word::SIZE;
    let whole = count - count % V::LANES;
    // SAFETY: as the caller says.
    unsafe {
        for i in (0..whole).step_by(V::LANES) {
            many(V::load(a.add(i * size)), V::load(b.add(i * size))).store(to.add(i * size));
        }
        for i in whole..count {
            one(V::Word::load(a.add(i * size)), V::Word::load(b.add(i * size))).store(to.add(i * size));
        }
    }
}

/// Folds rows of words to one row at `to`, [`CHUNK`] rows at a time. The rows are given by their number, their distance
/// in bytes, and their length in words. If `goes_on` is true, the words at `to` come first.
///
/// # Safety
/// The conditions of [`Fold::run`] must hold.
#[inline(always)]
unsafe fn columns<V: Vector>(
    from: *const u8,
    to: *mut u8,
    (rows, step, lanes): (usize, isize, usize),
    goes_on: bool,
    many: &impl Fn(V, V) -> V,
) {
    let size = V::Word::SIZE;
    for first in (0..lanes).step_by(V::LANES) {
        let count = V::LANES.min(lanes - first);
        let beyond = (V::LANES - count) * size;
        // A vector that begins in one of the first `whole` rows ends no later than the last row does.
        let whole = match usize::try_from(step) {
            _ if beyond == 0 => rows,
            Ok(step) if step > 0 => rows.saturating_sub(beyond.div_ceil(step)),
            _ => 0,
        };
        let row = |r: usize| {
            let p = from.wrapping_offset(r as isize * step).wrapping_add(first * size);
            // SAFETY: as the caller says.
            unsafe { if r < whole { V::load(p) } else { load_some::<V>(p, count) } }
        };
        let to = to.wrapping_add(first * size);
        // SAFETY: as the caller says.
        let mut total = goes_on.then(|| unsafe { load_some::<V>(to, count) });
        for start in (0..rows).step_by(CHUNK) {
            let mut chunk = row(start);
            for r in start + 1..rows.min(start + CHUNK) {
                chunk = many(chunk, row(r));
            }
            total = Some(total.map_or(chunk, |total| many(total, chunk)));
        }
        let mut words = [V::Word::from_bits64(0); LANES];
        total.unwrap_or(V::splat(words[0])).write(&mut words);
        // SAFETY: as the caller says.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr().cast(), to, count * size) }
    }
}

/// Returns a vector of `count` words, followed by zeros.
///
/// # Safety
/// The words must be readable.
#[inline(always)]
unsafe fn load_some<V: Vector>(p: *const u8, count: usize) -> V {
    let mut words = [V::Word::from_bits64(0); LANES];
    // SAFETY: as the caller says.
    unsafe { std::ptr::copy_nonoverlapping(p, words.as_mut_ptr().cast::<u8>(), count * V::Word::SIZE) }
    V::read(&words)
}
