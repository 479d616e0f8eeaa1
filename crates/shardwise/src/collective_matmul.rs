//! Matmuls that overlap with the communication that they need: while one piece is multiplied, the next one is sent.
//!
//! The functions are for per-device code and take the parts that the device holds. The axes cannot be axes of batches.
//! A product is an einsum of two operands. `letter` is the dimension that is split along the axes `Y`, and `·` sums
//! over the letters that the result lacks:
//!
//! | function | contracting | free | batch |
//! |---|---|---|---|
//! | [`all_gather`] | `A[B, D_Y] · W[D, F] -> Out[B, F]` | `A[B_Y, D] · W[D, F] -> Out[B, F]` | `A[G_Y, B, D] · W[G, D, F] -> Out[G, B, F]` |
//! | [`reduce_scatter`] | `A[B, D_Y] · W[D_Y, F]`, and so below | `-> Out[B, F_Y]`, `-> Out[B_Y, F]` | `-> Out[G_Y, B, F]` |
//! | [`all_reduce`] | | `-> Out[B, F]`, tiled over `F` or `B` | `-> Out[G, B, F]`, tiled over `G` |
//!
//! Each function takes an [`Overlap`]. With each of them, it adds the same products in the same dtype: `f32` for `bf16`
//! and `f16`, rounded once at the end, and the operands' own dtype otherwise. So the results are equal, except that
//! sums of floats that are not exact depend on the order in which they are taken.
//!
//! ```
//! # use shardwise::prelude::*;
//! # fn main() -> Result<()> {
//! set_mesh(Mesh::auto([("X", 2), ("Y", 4)])?);
//! let (a, w) = (ones([8, 16], BF16).shard(P!("X", "Y")), ones([16, 32], BF16).shard(P!(None, "Y")));
//! let out = shard_map(|a: &Array, w: &Array| {
//!     collective_matmul::all_gather("bd,df->bf", a, w, 'd', "Y", Overlap::BothWays)
//! })
//! .in_specs((P!("X", "Y"), P!(None, "Y")))
//! .out_specs(P!("X", "Y"));
//! assert_equal(&out(&a, &w), &full([8, 32], 16, BF16));
//! # Ok(())
//! # }
//! ```

use crate::array::Array;
use crate::collective::{Axes, AxisName, Future, Over, axis_index, shift};
use crate::einsum::Letters;
use crate::ops::{Checked, Kinds, Site, element, site};
use crate::{hlo, mistakes, reduce};
use shardwise_base::DType;
use shardwise_ir::TensorType;

/// How the pieces are sent around the ring of the `n` devices along the axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// Does not split the matmul: one collective runs before or after one matmul.
    Blocking,
    /// Sends the pieces to one neighbour, in `n - 1` steps. This uses one direction of each link.
    OneWay,
    /// Sends the pieces to both neighbours, in `n / 2` steps, rounded down: half of them in each direction. If `n` is
    /// even, one more is sent down the ring than up.
    BothWays,
}

impl Overlap {
    /// All values of this type.
    pub const ALL: [Overlap; 3] = [Overlap::Blocking, Overlap::OneWay, Overlap::BothWays];

    /// Returns the number of steps that a piece is sent down the ring, and the number that it is sent up, so that it
    /// reaches all of `n` devices.
    fn reach(self, n: usize) -> [usize; 2] {
        match self {
            Overlap::BothWays => [n / 2, (n - 1) / 2],
            _ => [n - 1, 0],
        }
    }
}

/// The direction in which the pieces of each entry of [`Overlap::reach`] are sent: down the ring, and up.
const DIRECTIONS: [isize; 2] = [-1, 1];

/// Multiplies all of `a` by `b`, where each device holds a part of `a` along `letter`. The parts of `a` are gathered.
///
/// To gather the right operand, name it first in the spec.
///
/// # Shapes
///
/// With `letter` = `d`: `[b, d/n], [d, f] -> [b, f]`. With `letter` = `b`: `[b/n, d], [d, f] -> [b, f]`.
///
/// # States
///
/// The result varies over `axes`, as the result of [`Array::all_gather`] does.
///
/// # Cost
///
/// Each device receives `n - 1` parts of `a`. Unless `overlap` is [`Overlap::Blocking`], each part is sent on while it
/// is multiplied: there are `n` matmuls, and `n - 1` transfers that overlap with them.
///
/// # Errors
///
/// - `matmul-letter` unless `letter` occurs once in the letters of `a`, and at most once in those of `b`.
/// - `einsum-spec`, `einsum-rank`, `einsum-size`, `dtype-mixed` and `too-large`, as for [`einsum`](fn@crate::einsum).
/// - `dtype-kind` for bools and for a dtype that can only be stored.
/// - Those of a collective; see [`Array::psum`].
#[track_caller]
pub fn all_gather(spec: &str, a: &Array, b: &Array, letter: char, axes: impl Axes, overlap: Overlap) -> Array {
    site("collective_matmul::all_gather", &[a, b], |s| {
        let over = s.over(&axes, None)?;
        let letters = Letters::parse(s, spec, 2)?;
        let expected = "once in the left operand, and at most once in the right one";
        let dim = s.letter(&letters, &letters.inputs[0], spec, letter, expected)?;
        let mut whole = a.tensor().shape.clone();
        if let Some(size) = whole.get_mut(dim) {
            *size = size.saturating_mul(over.count());
        }
        let m = Matmul::new(s, spec, letters, [a, b], &whole, (letter, over, axes.names(), overlap))?;
        Ok(match overlap {
            Overlap::Blocking => m.letters.contract(&[a.all_gather(m.axes.clone(), dim), b.clone()], m.dtype),
            _ => m.gathered(a, b, a.tensor().shape[dim]),
        })
    })
}

/// Multiplies what each device holds and sums the products over the devices. Each device keeps its part of the sum
/// along `letter`.
///
/// # Shapes
///
/// With `letter` = `f`: `[b, d/n], [d/n, f] -> [b, f/n]`.
///
/// # States
///
/// The result varies over `axes`.
///
/// # Cost
///
/// Each device receives `n - 1` parts of the result, in the dtype of the sums. Unless `overlap` is
/// [`Overlap::Blocking`], partial sums are sent from device to device, and end at their owner. While one is sent, the
/// next device multiplies the part to which it will be added: there are `n` matmuls, and `n - 1` transfers that overlap
/// with them.
///
/// # Errors
///
/// - `matmul-letter` unless `letter` occurs in the result, and at most once in each operand.
/// - `collective-uneven` if the size of `letter` is not a multiple of the number of devices.
/// - The other errors of [`all_gather`].
#[track_caller]
pub fn reduce_scatter(spec: &str, a: &Array, b: &Array, letter: char, axes: impl Axes, overlap: Overlap) -> Array {
    site("collective_matmul::reduce_scatter", &[a, b], |s| {
        let m = Matmul::of_sum(s, spec, a, b, letter, &axes, overlap)?;
        let size = m.size;
        if !size.is_multiple_of(m.n) {
            let (i, x) = if m.letters.inputs[0].contains(&letter) { (0, a) } else { (1, b) };
            let dim = m.place(i).expect("the result has its letters from the operands");
            s.splits(x, dim, false, &m.over)?;
        }
        let sum = match overlap {
            Overlap::Blocking => m.product(a, b).psum_scatter(m.axes.clone(), m.out_dim()),
            _ => m.scattered(a, b, 0, size / m.n, &mut None),
        };
        Ok(m.rounded(&sum))
    })
}

/// Multiplies what each device holds and sums the products over the devices. Each device gets the whole sum, which is
/// computed in tiles along `letter` unless `overlap` is [`Overlap::Blocking`].
///
/// # Shapes
///
/// `[b, d/n], [d/n, f] -> [b, f]`. The size of `letter` can be any number.
///
/// # States
///
/// The result is replicated along `axes`.
///
/// # Cost
///
/// Each device receives `n - 1` of `n` parts of the result twice: as partial sums and as results. Unless `overlap` is
/// [`Overlap::Blocking`], the result is made in two tiles, or in one if `letter` has fewer than `2 * n` elements. Each
/// tile is scattered as by [`reduce_scatter`], which overlaps with its matmuls, and then gathered. The gather of the
/// first of two tiles overlaps with the matmuls of the second. The gather of the last tile overlaps with nothing.
///
/// # Errors
///
/// - `matmul-letter` unless `letter` occurs in the result, and at most once in each operand.
/// - The other errors of [`all_gather`].
#[track_caller]
pub fn all_reduce(spec: &str, a: &Array, b: &Array, letter: char, axes: impl Axes, overlap: Overlap) -> Array {
    site("collective_matmul::all_reduce", &[a, b], |s| {
        let m = Matmul::of_sum(s, spec, a, b, letter, &axes, overlap)?;
        Ok(match overlap {
            Overlap::Blocking => m.rounded(&m.product(a, b).psum(m.axes.clone())),
            _ => m.reduced(a, b),
        })
    })
}

impl Site<'_> {
    /// Returns the index of `letter` in `labels`. It must occur there once, and at most once in each operand.
    ///
    /// Errors: `matmul-letter`.
    fn letter(&self, letters: &Letters, labels: &[char], spec: &str, letter: char, expected: &str) -> Checked<usize> {
        let count = |labels: &[char]| labels.iter().filter(|&&c| c == letter).count();
        if count(labels) != 1 || letters.inputs.iter().any(|labels| count(labels) > 1) {
            return self.fail(None, mistakes::matmul_letter(self.name, letter, spec, expected, &self.loc));
        }
        Ok(labels.iter().position(|&c| c == letter).expect("it occurs there once"))
    }
}

/// A checked product, and the ring around which its pieces are sent.
struct Matmul {
    letters: Letters,
    /// The dimension that is split along the axes.
    letter: char,
    /// The whole size of dimension `letter`.
    size: usize,
    over: Over,
    axes: Vec<AxisName>,
    /// The number of devices along the axes.
    n: usize,
    /// The position of this device along the axes.
    me: Array,
    overlap: Overlap,
    dtype: DType,
    /// The dtype in which products are summed.
    sums: DType,
}

impl Matmul {
    fn new(
        s: &Site<'_>,
        spec: &str,
        letters: Letters,
        [a, b]: [&Array; 2],
        a_shape: &[usize],
        (letter, over, axes, overlap): (char, Over, Vec<AxisName>, Overlap),
    ) -> Checked<Matmul> {
        s.has(a, Kinds::Numbers)?;
        let sizes = letters.check(s, spec, &[a, b], &[a_shape, &b.tensor().shape])?;
        let (n, me, dtype) = (over.count(), axis_index(axes.clone()), a.tensor().dtype);
        let sums = reduce::wide(dtype);
        Ok(Matmul { letters, letter, size: sizes[&letter], over, axes, n, me, overlap, dtype, sums })
    }

    fn of_sum(
        s: &Site<'_>,
        spec: &str,
        a: &Array,
        b: &Array,
        letter: char,
        axes: &impl Axes,
        overlap: Overlap,
    ) -> Checked<Matmul> {
        let over = s.over(axes, None)?;
        let letters = Letters::parse(s, spec, 2)?;
        s.letter(&letters, &letters.output, spec, letter, "in the result, and at most once in each operand")?;
        Matmul::new(s, spec, letters, [a, b], &a.tensor().shape, (letter, over, axes.names(), overlap))
    }

    // ── pieces
    fn place(&self, operand: usize) -> Option<usize> {
        self.letters.inputs[operand].iter().position(|&c| c == self.letter)
    }

    fn out_dim(&self) -> usize {
        self.letters.output.iter().position(|&c| c == self.letter).expect("it was checked")
    }

    /// Returns the position of the device `steps` steps up the ring.
    fn device(&self, steps: isize) -> Array {
        match steps.rem_euclid(self.n as isize) {
            0 => self.me.clone(),
            steps => (&self.me + steps) % self.n,
        }
    }

    /// Returns the product of two pieces, not rounded.
    fn product(&self, a: &Array, b: &Array) -> Array {
        self.letters.contract(&[a.clone(), b.clone()], self.sums)
    }

    fn rounded(&self, sum: &Array) -> Array {
        hlo::convert(sum, self.dtype)
    }

    /// Returns the piece of an operand that starts at `start` and has size `chunk` along the letter. An operand without
    /// the letter is returned whole, and so is one whose dimension already has size `chunk`.
    fn piece(&self, operand: usize, x: &Array, start: &Array, chunk: usize) -> Array {
        let Some(dim) = self.place(operand) else { return x.clone() };
        let mut sizes = x.tensor().shape.clone();
        if sizes[dim] == chunk {
            return x.clone();
        }
        sizes[dim] = chunk;
        hlo::dynamic_slice(x, &starts(sizes.len(), dim, start), &sizes)
    }

    // ── algorithms
    /// Multiplies all of `a` by `b`. The parts of `a`, of size `chunk` along the letter, are multiplied when they are
    /// received.
    fn gathered(&self, a: &Array, b: &Array, chunk: usize) -> Array {
        let is_summed = !self.letters.output.contains(&self.letter);
        let mut out: Option<Array> = None;
        let mut ring = Gather::new(self, a);
        let mut pieces = vec![(0, a.clone())];
        while !pieces.is_empty() {
            ring.send();
            for (from, a) in &pieces {
                let start = self.device(*from) * chunk;
                let b = self.piece(1, b, &start, chunk);
                let so_far = out.take();
                out = Some(match (is_summed, so_far) {
                    (true, None) => self.product(a, &b),
                    (true, Some(sum)) => sum + self.product(a, &b),
                    (false, so_far) => {
                        let own = self.letters.contract(&[a.clone(), b], self.dtype);
                        self.put(so_far, &own, &start, self.size)
                    }
                });
            }
            pieces = ring.receive();
        }
        self.rounded(&out.expect("there is a device"))
    }

    /// Writes a piece into the result `out` at index `start` along the letter, and returns the result. If it is the
    /// first piece, the result is made with `size` elements along the letter. A piece of this size is the result
    /// itself.
    fn put(&self, out: Option<Array>, piece: &Array, start: &Array, size: usize) -> Array {
        let dim = self.out_dim();
        let mut shape = piece.tensor().shape.clone();
        if shape[dim] == size {
            return piece.clone();
        }
        shape[dim] = size;
        let out = out.unwrap_or_else(|| hlo::zeros(&TensorType::new(piece.tensor().dtype, shape.clone())));
        hlo::dynamic_update_slice(&out, piece, &starts(shape.len(), dim, start))
    }

    /// Returns this device's part of the sum, not rounded: `chunk` elements along the letter, of the parts that start
    /// at `base`.
    ///
    /// A sum is passed from device to device and ends at the one that it is for: at most one sum from each direction,
    /// which are added there. The pieces that `under` gathers are sent at the same time.
    fn scattered(&self, a: &Array, b: &Array, base: usize, chunk: usize, under: &mut Option<Gather<'_>>) -> Array {
        let part = |steps: isize| {
            let start = self.device(steps) * chunk;
            let start = if base == 0 { start } else { start + base };
            self.product(&self.piece(0, a, &start, chunk), &self.piece(1, b, &start, chunk))
        };
        let reach = self.overlap.reach(self.n);
        // The number of steps up the ring, or down if it is negative, from here to the device that a sum is for, once
        // the sum has been sent `steps` times. A sum that is sent up the ring is for a device further up.
        let still = |side: usize, steps: usize| DIRECTIONS[side] * (reach[side] - steps) as isize;
        let mut sums = [0, 1].map(|side| (reach[side] > 0).then(|| part(still(side, 0))));
        let mut own = (reach[0] == 0).then(|| part(0));
        for i in 1..=reach[0] {
            let flights = [0, 1].map(|side| (i <= reach[side]).then(|| self.step(&sums[side], side)));
            under.iter_mut().for_each(Gather::send);
            let next = [0, 1].map(|side| (i < reach[side]).then(|| part(still(side, i))));
            if i == reach[0] {
                own = Some(part(0));
            }
            for (side, (flight, next)) in flights.into_iter().zip(next).enumerate() {
                let came = flight.map(Future::done);
                sums[side] = match (came, next) {
                    (Some(sum), Some(next)) => Some(sum + next),
                    (came, _) => came.or(sums[side].take()),
                };
            }
            under.iter_mut().for_each(Gather::keep);
        }
        sums.into_iter().flatten().fold(own.expect("the last step makes it"), |sum, other| sum + other)
    }

    fn step(&self, x: &Option<Array>, side: usize) -> Future {
        let x = x.as_ref().expect("it has further to go");
        x.ppermute_start(self.axes.clone(), shift(DIRECTIONS[side]))
    }

    /// Returns the whole sum on all devices. It is made of two tiles, or of one if it is small, each of which is
    /// scattered and then gathered.
    fn reduced(&self, a: &Array, b: &Array) -> Array {
        let tiles = if self.size >= 2 * self.n { 2 } else { 1 };
        let chunk = self.size.div_ceil(tiles * self.n);
        let [a, b] = [(0, a), (1, b)].map(|(i, x)| match self.place(i) {
            Some(dim) => padded(x, dim, tiles * self.n * chunk),
            None => x.clone(),
        });
        let mut whole = vec![];
        let mut gather = None;
        for tile in 0..tiles {
            let part = self.scattered(&a, &b, tile * self.n * chunk, chunk, &mut gather);
            let before = gather.replace(Gather::new(self, &self.rounded(&part)));
            whole.extend(before.map(|g| g.joined(chunk)));
        }
        whole.extend(gather.map(|g| g.joined(chunk)));
        let out = hlo::concatenate(&whole.iter().collect::<Vec<_>>(), self.out_dim());
        let out = hlo::slice_dim(&out, self.out_dim(), 0..self.size, 1);
        // Each part was summed on one device and copied to the others.
        out.in_state(Some(out.manual_in(&self.over.scope).without(&self.over.set)))
    }
}

/// A gather that runs step by step: the pieces that pass through this device.
struct Gather<'a> {
    m: &'a Matmul,
    /// The last piece from each side, or the device's own piece if none has come. It is sent on next.
    passing: [Array; 2],
    flights: [Option<Future>; 2],
    steps: usize,
    /// The device's own piece and the received ones that [`keep`](Gather::keep) kept, each with the number of steps up
    /// the ring from here to the device that it comes from.
    kept: Vec<(isize, Array)>,
}

impl<'a> Gather<'a> {
    fn new(m: &'a Matmul, own: &Array) -> Gather<'a> {
        let passing = [own.clone(), own.clone()];
        Gather { m, passing, flights: [None, None], steps: 0, kept: vec![(0, own.clone())] }
    }

    fn send(&mut self) {
        self.steps += 1;
        let reach = self.m.overlap.reach(self.m.n);
        let passing = |side: usize| Some(self.passing[side].clone());
        self.flights = [0, 1].map(|side| (self.steps <= reach[side]).then(|| self.m.step(&passing(side), side)));
    }

    /// Returns the pieces that were sent to this device, each with the number of steps up the ring from here to the
    /// device that it comes from.
    fn receive(&mut self) -> Vec<(isize, Array)> {
        let mut pieces = vec![];
        for side in [0, 1] {
            if let Some(piece) = self.flights[side].take().map(Future::done) {
                self.passing[side] = piece.clone();
                pieces.push((-DIRECTIONS[side] * self.steps as isize, piece));
            }
        }
        pieces
    }

    fn keep(&mut self) {
        let pieces = self.receive();
        self.kept.extend(pieces);
    }

    /// Gathers the pieces that have not been received yet, and joins all along the letter of the result. Each has size
    /// `chunk`.
    fn joined(mut self, chunk: usize) -> Array {
        while self.kept.len() < self.m.n {
            self.send();
            self.keep();
        }
        let put = |out, (from, piece): &(isize, Array)| {
            Some(self.m.put(out, piece, &(self.m.device(*from) * chunk), self.m.n * chunk))
        };
        self.kept.iter().fold(None, put).expect("there is a device")
    }
}

fn starts(rank: usize, dim: usize, start: &Array) -> Vec<Array> {
    let zero = hlo::constant(element(0.0, DType::I32));
    (0..rank).map(|d| if d == dim { start.clone() } else { zero.clone() }).collect()
}

fn padded(x: &Array, dim: usize, size: usize) -> Array {
    let mut by = vec![(0, 0); x.tensor().rank()];
    by[dim].1 = size - x.tensor().shape[dim];
    if by[dim].1 == 0 { x.clone() } else { hlo::pad(x, &hlo::constant(element(0.0, x.tensor().dtype)), &by) }
}
